// A slow origin: every answer takes 300 ms and may be kept for 10 s. `GET /_calls` says how many requests came so far, and
// `POST /_calls` begins to count anew; neither counts itself.
//
//   weir-demo-origin [ADDRESS:PORT]      127.0.0.1:9000 unless said; port 0 takes a free one. Prints where it listens.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "plain_http.hpp"

namespace {

namespace asio = boost::asio;
using namespace weir::demo;
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds thinking_time{300};

struct Counters {
  unsigned long calls = 0;
};

std::string answer(std::string_view cache_control, std::string const& body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: " + std::string(cache_control) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

asio::awaitable<void> serve(Tcp::socket socket, Counters& counters) {
  std::string buffer, body;
  for (;;) {
    Head const head = co_await read_message(socket, buffer, body);
    if (head.first_line.empty()) co_return;
    std::string const& line = head.first_line;
    std::string const target = line.substr(line.find(' ') + 1, line.rfind(' ') - line.find(' ') - 1);
    std::string bytes;
    if (target == "/_calls") {
      if (line.starts_with("POST ")) counters.calls = 0;
      bytes = answer("no-store", std::to_string(counters.calls) + "\n");
    } else {
      unsigned long const call = ++counters.calls;
      asio::steady_timer timer(socket.get_executor(), thinking_time);
      co_await timer.async_wait(awaited);
      bytes = answer("max-age=10", "answer " + std::to_string(call) + " of the origin, to " + target + "\n");
    }
    if (line.starts_with("HEAD ")) bytes.resize(bytes.find("\r\n\r\n") + 4);
    auto const [error, sent] = co_await asio::async_write(socket, asio::buffer(bytes), awaited);
    if (error || sent == 0) co_return;
  }
}

asio::awaitable<void> accept_all(Tcp::acceptor& acceptor, Counters& counters) {
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(awaited);
    if (error == asio::error::operation_aborted) co_return;
    if (error) {
      // Out of descriptors, most likely: connections end, so try again soon.
      asio::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(50));
      co_await pause.async_wait(awaited);
      continue;
    }
    auto connection = serve(std::move(socket), counters);
    asio::co_spawn(acceptor.get_executor(), std::move(connection), report);
  }
}

int run(std::string_view where) {
  asio::io_context context(1);
  Tcp::endpoint const endpoint = parse_endpoint(where);
  if (endpoint.address().is_unspecified() && endpoint.port() == 0) {
    std::fprintf(stderr, "weir-demo-origin: not ADDRESS:PORT: %s\n", std::string(where).c_str());
    return 2;
  }
  Tcp::acceptor acceptor(context, endpoint);
  Counters counters;
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code, int) { context.stop(); });
  asio::co_spawn(context, accept_all(acceptor, counters), report);
  Tcp::endpoint const local = acceptor.local_endpoint();
  std::printf("%s:%u\n", local.address().to_string().c_str(), static_cast<unsigned>(local.port()));
  std::fflush(stdout);
  context.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  raise_descriptor_limit();
  try {
    return run(argc > 1 ? argv[1] : "127.0.0.1:9000");
  } catch (std::exception const& e) {
    std::fprintf(stderr, "weir-demo-origin: %s\n", e.what());
    return 1;
  }
}
