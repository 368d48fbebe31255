#include "quiet_weir.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "weir/cache/head.hpp"
#include "weir/cache/key.hpp"
#include "weir/cache/vary.hpp"
#include "weir/config/load.hpp"

// In place of libc's.
extern "C" ssize_t sendmsg(int, msghdr const* message, int) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) size += message->msg_iov[i].iov_len;
  return static_cast<ssize_t>(size);
}

namespace weir::bench {
namespace {

constexpr std::size_t request_bytes = 150;
constexpr auto lifetime = std::chrono::hours(24);
constexpr wire::HeadLimits limits;

std::shared_ptr<config::Settings const> quiet_settings(std::size_t workers) {
  config::Sources sources;
  sources.origin = "http://127.0.0.1:9";
  sources.listen = {"127.0.0.1:0"};
  sources.set = {{"admin.listen", "off"}, {"workers", std::to_string(workers)}, {"store.max_bytes", "4GiB"}};
  auto loaded = config::load(sources);
  if (!loaded.settings) throw std::runtime_error(loaded.mistakes.front().text());
  return std::make_shared<config::Settings const>(std::move(*loaded.settings));
}

wire::Stream::Socket some_socket(boost::asio::io_context& io) {
  return {io, boost::asio::generic::stream_protocol(AF_INET, 0), ::socket(AF_INET, SOCK_STREAM, 0)};
}

wire::RequestHead read_request(std::string_view bytes, wire::HeadRoom& room) {
  std::size_t scanned = 0;
  return wire::read_request_head(bytes, "http", limits, room, scanned);
}

std::string origin_answer(std::size_t body_size, std::string_view vary) {
  std::string answer =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: max-age=86400\r\nETag: \"5f1d7a84\"\r\n"
      "Accept-Ranges: bytes\r\nContent-Length: ";
  answer += std::to_string(body_size);
  if (!vary.empty()) answer.append("\r\nVary: ").append(vary);
  return answer + "\r\n\r\n";
}

}  // namespace

std::string request_for(std::string_view path, std::string_view fields) {
  std::string request("GET ");
  request.append(path).append(" HTTP/1.1\r\nHost: bench.example\r\n").append(fields);
  request += "Accept: */*\r\nAccept-Encoding: gzip\r\nUser-Agent: bench";
  auto const size = request_bytes + fields.size() - 4;
  if (request.size() < size) request.append(size - request.size(), 'x');
  return request + "\r\n\r\n";
}

std::string path_of(std::uint64_t number) {
  auto const digits = std::to_string(number);
  return "/x/" + std::string(8 - std::min<std::size_t>(8, digits.size()), '0') + digits;
}

QuietWeir::QuietWeir(std::size_t workers) : settings_(quiet_settings(workers)), daemon_(*settings_) {}

void QuietWeir::store(std::string_view path, std::size_t body_size, std::string_view vary) {
  auto const bytes = request_for(path);
  wire::HeadRoom room, answer_room;
  auto const request = read_request(bytes, room).request;
  auto const& rules = settings_->sites.front().policy.key;
  std::string rewritten;
  cache::KeyBytes key;
  cache::append_primary_key(request, cache::rewrite_target(request, rules, rewritten), rules, nullptr, key);
  cache::SelectorBytes selector;
  if (!vary.empty()) cache::append_selector(request.fields, {std::string(vary)}, rules, selector);

  auto const answer = origin_answer(body_size, vary);
  std::size_t scanned = 0;
  auto const response = wire::read_response_head(answer, http::Method::get, limits, answer_room, scanned).response;
  auto const now = base::read_clock();
  cache::StoredResponse::Parts parts{cache::view(key), cache::view(selector), {}, {}};
  auto const head = cache::build_head(response, {}, now.wall, &parts.facts);
  parts.head = head;
  parts.facts.status = 200;
  parts.facts.response_time = now.steady;
  parts.facts.lifetime = lifetime;
  parts.facts.date = now.wall;
  parts.facts.began = ++began_;
  auto entry = cache::StoredResponse::make(parts, body_size, daemon_.shared().memory);
  std::memset(entry->body_area(), 'x', body_size);
  auto const put = daemon_.store().put(std::move(entry), now.steady + 2 * lifetime, rules.max_variants, now);
  if (put != store::Put::stored) throw std::runtime_error("the store did not take it");
}

void QuietWeir::store_many(std::uint64_t count, std::size_t body_size) {
  for (std::uint64_t i = 0; i < count; ++i) store(path_of(i), body_size);
}

QuietWeir::Desk::Desk(QuietWeir& weir, std::uint16_t worker)
    : local_(weir.daemon().shared(), io_, worker, weir.daemon().metrics().worker(worker)),
      client_(std::make_shared<wire::Stream>(some_socket(io_)), local_.inboxes),
      exchange_(local_) {
  auto snapshot = std::make_shared<proxy::Snapshot>();
  snapshot->setup = weir.daemon().setup();
  for (auto const& site : snapshot->setup->settings.sites)
    snapshot->of_site.push_back({snapshot->setup->origins.at(site.origin), nullptr});  // hits go to no origin
  local_.settings = {snapshot, &snapshot->setup->settings};
  local_.snapshot = std::move(snapshot);
}

bool QuietWeir::Desk::answer(std::string_view request) {
  auto const head = read_request(request, *room_);
  if (head.step != wire::HeadStep::ready) return false;
  exchange_.begin(client_, head.request, base::read_clock());
  return exchange_.answer_at_once();
}

}  // namespace weir::bench
