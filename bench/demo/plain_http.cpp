#include "plain_http.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>

#include <boost/algorithm/string/predicate.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::demo {

namespace asio = boost::asio;
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t largest_head = 64 * 1024;
constexpr std::size_t largest_body = 64 * 1024 * 1024;

std::string_view Head::field(std::string_view name) const {
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view const line = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(std::min(rest.size(), line.size() + 2));
    if (line.size() <= name.size() || line[name.size()] != ':' || !boost::algorithm::istarts_with(line, name)) continue;
    std::size_t const begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
  }
  return {};
}

asio::awaitable<Head> read_message(Tcp::socket& socket, std::string& buffer, std::string& body) {
  Head head;
  auto const [head_error, size] =
      co_await asio::async_read_until(socket, asio::dynamic_buffer(buffer, largest_head), "\r\n\r\n", awaited);
  if (head_error) co_return head;
  head.text = buffer.substr(0, size);
  buffer.erase(0, size);
  std::string_view const length = head.field("Content-Length");
  std::from_chars(length.data(), length.data() + length.size(), head.body_size);
  if (head.body_size > largest_body) co_return Head{};
  if (buffer.size() < head.body_size) {
    std::size_t const missing = head.body_size - buffer.size();
    auto const [error, got] =
        co_await asio::async_read(socket, asio::dynamic_buffer(buffer), asio::transfer_exactly(missing), awaited);
    if (error || got != missing) co_return Head{};
  }
  body = buffer.substr(0, head.body_size);
  buffer.erase(0, head.body_size);
  head.first_line = head.text.substr(0, head.text.find("\r\n"));
  co_return head;
}

Tcp::endpoint parse_endpoint(std::string_view text) {
  std::size_t const colon = text.rfind(':');
  std::uint16_t port = 0;
  if (colon == std::string_view::npos) return {};
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  boost::system::error_code error;
  auto const address = asio::ip::make_address(std::string(text.substr(0, colon)), error);
  return error ? Tcp::endpoint() : Tcp::endpoint(address, port);
}

void raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void report(std::exception_ptr error) {
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& e) { std::fprintf(stderr, "%s\n", e.what()); }
}

}  // namespace weir::demo
