#include "units.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

namespace weir::config {
namespace {

struct TimeUnit {
  std::string_view name;
  Duration length;
};
constexpr TimeUnit time_units[] = {{"d", 24h}, {"h", 1h}, {"m", 1min}, {"s", 1s}, {"ms", 1ms}};
// Longer ones would overflow arithmetic with points in time.
constexpr Duration longest = 24h * 36'500;

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr SizeUnit size_units[] = {
    {"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"B", 1}};

// "250ms" -> 250 and "ms".
struct Quantity {
  std::uint64_t number;
  std::string_view unit;
};
std::optional<Quantity> parse_quantity(std::string_view text) noexcept {
  std::size_t const digits = std::min(text.find_first_not_of("0123456789"), text.size());
  auto const number = parse_number(text.substr(0, digits));
  if (!number) return std::nullopt;
  return Quantity{*number, text.substr(digits)};
}

constexpr unsigned char v4_mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_v4(Network const& network) noexcept {
  return network.prefix >= 96 && std::memcmp(network.address.data(), v4_mapped, sizeof v4_mapped) == 0;
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
  if (text.empty() || text.size() > 20 || text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<Duration> parse_duration(std::string_view text) {
  if (text == "off") return Duration{};
  auto const quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  for (TimeUnit const& unit : time_units) {
    if (quantity->unit != unit.name) continue;
    if (quantity->number > static_cast<std::uint64_t>(longest / unit.length)) return std::nullopt;
    return unit.length * static_cast<std::int64_t>(quantity->number);
  }
  return std::nullopt;
}

std::string format_duration(Duration duration) {
  if (duration == Duration{}) return "0s";
  for (TimeUnit const& unit : time_units)
    if (duration % unit.length == Duration{}) return std::to_string(duration / unit.length) + std::string(unit.name);
  return std::to_string(duration / 1ms) + "ms";
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  auto const quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  for (SizeUnit const& unit : size_units) {
    if (quantity->unit != unit.name) continue;
    if (quantity->number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / unit.bytes)
      return std::nullopt;
    return quantity->number * unit.bytes;
  }
  return std::nullopt;
}

std::string format_size(std::uint64_t bytes) {
  for (SizeUnit const& unit : size_units)
    if (bytes != 0 && bytes % unit.bytes == 0) return std::to_string(bytes / unit.bytes) + std::string(unit.name);
  return "0B";
}

std::optional<Network> parse_network(std::string_view text) {
  std::size_t const slash = text.find('/');
  std::string const address(text.substr(0, slash));
  if (address.find('\0') != std::string::npos) return std::nullopt;
  Network network;
  unsigned offset = 0;
  if (in_addr v4{}; inet_pton(AF_INET, address.c_str(), &v4) == 1) {
    std::memcpy(network.address.data(), v4_mapped, sizeof v4_mapped);
    std::memcpy(network.address.data() + sizeof v4_mapped, &v4, 4);
    offset = 96;
  } else if (inet_pton(AF_INET6, address.c_str(), network.address.data()) != 1) {
    return std::nullopt;
  }
  if (slash == std::string_view::npos) return network;
  auto const bits = parse_number(text.substr(slash + 1));
  if (!bits || *bits > 128 - offset) return std::nullopt;
  network.prefix = static_cast<unsigned>(*bits) + offset;
  for (unsigned bit = network.prefix; bit < 128; ++bit)
    if ((network.address[bit / 8] >> (7 - bit % 8) & 1) != 0) return std::nullopt;
  return network;
}

std::string format_network(Network const& network) {
  char text[INET6_ADDRSTRLEN] = "";
  bool const v4 = is_v4(network);
  unsigned const prefix = v4 ? network.prefix - 96 : network.prefix;
  inet_ntop(v4 ? AF_INET : AF_INET6, network.address.data() + (v4 ? 12 : 0), text, sizeof text);
  return prefix == (v4 ? 32U : 128U) ? std::string(text) : std::string(text) + "/" + std::to_string(prefix);
}

}  // namespace weir::config
