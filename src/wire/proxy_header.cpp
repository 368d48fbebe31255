#include "weir/wire/proxy_header.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <boost/asio/ip/address.hpp>

namespace weir::wire {
namespace {

namespace ip = boost::asio::ip;

constexpr std::string_view signature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::string_view word = "PROXY ";
constexpr std::size_t longest_line = 107;
constexpr std::size_t fixed_size = 16;  // of version 2: signature, version and command, family, length

ProxyHeader malformed() { return {}; }
ProxyHeader need_more() { return {.step = ProxyStep::need_more}; }

std::string text_of(ip::address const& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return ip::make_address_v4(ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

// Up to the next space, which is taken too.
std::string_view next_word(std::string_view& rest) noexcept {
  auto const end = rest.find(' ');
  auto const found = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return found;
}

bool is_port(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text.front() == '0')) return false;
  unsigned value = 0;
  for (char const c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value <= 65535;
}

std::optional<ip::address> parse(std::string_view text, bool v6) {
  // No zone, and no NUL that would end it early.
  if (text.empty() || text.find_first_not_of("0123456789abcdefABCDEF.:") != std::string_view::npos) return std::nullopt;
  boost::system::error_code error;
  auto const address = ip::make_address(std::string(text), error);
  if (error || address.is_v6() != v6) return std::nullopt;
  return address;
}

ProxyHeader read_line(std::string_view bytes) {
  auto const end = bytes.substr(0, longest_line).find('\n');
  if (end == std::string_view::npos) return bytes.size() < longest_line ? need_more() : malformed();
  if (bytes[end - 1] != '\r') return malformed();
  auto rest = bytes.substr(word.size(), end - 1 - word.size());
  ProxyHeader header{.step = ProxyStep::ready, .size = end + 1};
  auto const family = next_word(rest);
  if (family == "UNKNOWN") return header;  // whatever else it says
  if (family != "TCP4" && family != "TCP6") return malformed();
  bool const v6 = family == "TCP6";
  auto const source = parse(next_word(rest), v6);
  auto const destination = parse(next_word(rest), v6);
  bool const ports = is_port(next_word(rest)) && is_port(rest);
  if (!source || !destination || !ports) return malformed();
  header.address = text_of(*source);
  return header;
}

template <class Address>
Address address_at(std::string_view bytes) {
  typename Address::bytes_type raw;
  std::memcpy(raw.data(), bytes.data(), raw.size());
  return Address(raw);
}

ProxyHeader read_binary(std::string_view bytes) {
  if (bytes.size() < fixed_size) return need_more();
  auto const byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  unsigned const version = byte(12) >> 4, command = byte(12) & 0x0fU, family = byte(13);
  std::size_t const length = (std::size_t{byte(14)} << 8) | byte(15);
  ProxyHeader header{.step = ProxyStep::ready, .size = fixed_size + length, .own = command == 0};
  if (version != 2 || command > 1 || header.size > max_proxy_header) return malformed();
  if (bytes.size() < header.size) return need_more();
  if (header.own) return header;
  auto const addresses = bytes.substr(fixed_size, length);  // and perhaps other things behind them
  constexpr unsigned unspecified = 0x00, tcp4 = 0x11, tcp6 = 0x21, unix_stream = 0x31;
  switch (family) {
    case unspecified:
      return header;
    case tcp4:
      if (length < 12) return malformed();
      header.address = text_of(address_at<ip::address_v4>(addresses));
      return header;
    case tcp6:
      if (length < 36) return malformed();
      header.address = text_of(address_at<ip::address_v6>(addresses));
      return header;
    case unix_stream:
      return length < 216 ? malformed() : header;
    default:
      return malformed();  // datagrams, or nothing that is defined
  }
}

bool may_begin_with(std::string_view bytes, std::string_view with) noexcept {
  return bytes.substr(0, with.size()) == with.substr(0, bytes.size());
}

}  // namespace

ProxyHeader read_proxy_header(std::string_view bytes) {
  if (may_begin_with(bytes, word)) return bytes.size() < word.size() ? need_more() : read_line(bytes);
  if (may_begin_with(bytes, signature)) return bytes.size() < signature.size() ? need_more() : read_binary(bytes);
  return malformed();
}

}  // namespace weir::wire
