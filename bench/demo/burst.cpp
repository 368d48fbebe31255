// A thousand clients ask a running Weir for one cold key at the same moment.
//
//   weir-demo-burst WEIR ORIGIN [CLIENTS]   ADDRESS:PORT each; prints what the clients got and what the origin saw
//   weir-demo-burst --wait ADDRESS:PORT     until somebody listens there, for at most 10 s
//   weir-demo-burst --listens ADDRESS:PORT  exit code 0 if somebody listens there now
//   weir-demo-burst --free-port             a port that nobody uses now
//
// Exit code 0 if every client got the same whole answer and the origin was asked once.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "plain_http.hpp"

namespace {

namespace asio = boost::asio;
using namespace weir::demo;
using Steady = std::chrono::steady_clock;
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

struct Answer {
  std::string status_line;
  std::string cache_status;
  std::string body;
  Steady::duration took{};
};

// All clients connect first; the last one to do so fires the start.
struct Start {
  std::size_t missing;
  asio::steady_timer fired;
};

std::string request_for(std::string const& method, std::string const& target) {
  return method + " " + target + " HTTP/1.1\r\nHost: demo.example\r\n" + (method == "POST" ? "Content-Length: 0\r\n" : "") +
         "\r\n";
}

asio::awaitable<Answer> ask(Tcp::socket& socket, std::string const& request) {
  Answer answer;
  auto const began = Steady::now();
  auto const [error, sent] = co_await asio::async_write(socket, asio::buffer(request), awaited);
  if (error || sent == 0) co_return answer;
  std::string buffer;
  Head const head = co_await read_message(socket, buffer, answer.body);
  answer.status_line = head.first_line;
  answer.cache_status = head.field("Cache-Status");
  answer.took = Steady::now() - began;
  co_return answer;
}

asio::awaitable<void> one_client(Tcp::endpoint weir, std::string const& request, Start& start, Answer& answer) {
  Tcp::socket socket(co_await asio::this_coro::executor);
  auto const [error] = co_await socket.async_connect(weir, awaited);
  if (--start.missing == 0) {
    start.fired.cancel();
  } else {
    co_await start.fired.async_wait(awaited);
  }
  if (!error) answer = co_await ask(socket, request);
}

asio::awaitable<void> ask_once(Tcp::endpoint peer, std::string const& request, Answer& answer) {
  Tcp::socket socket(co_await asio::this_coro::executor);
  auto const [error] = co_await socket.async_connect(peer, awaited);
  if (!error) answer = co_await ask(socket, request);
}

Answer ask_alone(Tcp::endpoint peer, std::string const& method, std::string const& target) {
  asio::io_context context(1);
  Answer answer;
  std::string const request = request_for(method, target);
  asio::co_spawn(context, ask_once(peer, request, answer), report);
  context.run();
  return answer;
}

std::vector<Answer> ask_together(Tcp::endpoint weir, std::string const& target, std::size_t clients) {
  asio::io_context context(1);
  std::vector<Answer> answers(clients);
  Start start{clients, asio::steady_timer(context, Steady::time_point::max())};
  std::string const request = request_for("GET", target);
  for (Answer& answer : answers) asio::co_spawn(context, one_client(weir, request, start, answer), report);
  context.run();
  return answers;
}

void print_counts(char const* title, std::map<std::string, std::size_t> const& counts) {
  std::printf("%s\n", title);
  for (auto const& [what, count] : counts) std::printf("  %6zu  %s\n", count, what.empty() ? "(none)" : what.c_str());
}

int burst(Tcp::endpoint weir, Tcp::endpoint origin, std::size_t clients) {
  std::string const target = "/demo/" + std::to_string(Steady::now().time_since_epoch().count());
  if (ask_alone(origin, "POST", "/_calls").status_line.empty()) {
    std::fprintf(stderr, "weir-demo-burst: the origin does not answer\n");
    return 1;
  }
  std::vector<Answer> answers = ask_together(weir, target, clients);
  std::map<std::string, std::size_t> statuses, cache_statuses, bodies;
  for (Answer const& answer : answers) {
    ++statuses[answer.status_line];
    ++cache_statuses[answer.cache_status];
    ++bodies[answer.body];
  }
  std::string calls = ask_alone(origin, "GET", "/_calls").body;
  calls.erase(std::remove(calls.begin(), calls.end(), '\n'), calls.end());
  std::sort(answers.begin(), answers.end(), [](Answer const& a, Answer const& b) { return a.took < b.took; });

  std::printf("%zu clients asked for %s at once\n", clients, target.c_str());
  print_counts("status", statuses);
  print_counts("Cache-Status", cache_statuses);
  auto const milliseconds = [](Steady::duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
  std::printf("time: half within %.0f ms, all within %.0f ms\n", milliseconds(answers[clients / 2].took),
              milliseconds(answers.back().took));
  std::printf("different bodies: %zu\ncalls that the origin saw: %s\n", bodies.size(), calls.c_str());
  bool const all_alike = statuses.size() == 1 && statuses.begin()->first.starts_with("HTTP/1.1 200") && bodies.size() == 1;
  return all_alike && calls == "1" ? 0 : 1;
}

bool listens(Tcp::endpoint peer) {
  asio::io_context context(1);
  Tcp::socket socket(context);
  boost::system::error_code error;
  socket.connect(peer, error);
  return !error;
}

int wait_for(Tcp::endpoint peer) {
  asio::io_context context(1);
  for (auto const end = Steady::now() + std::chrono::seconds(10); Steady::now() < end;) {
    if (listens(peer)) return 0;
    asio::steady_timer(context, std::chrono::milliseconds(20)).wait();
  }
  std::fprintf(stderr, "weir-demo-burst: nobody listens there\n");
  return 1;
}

int print_free_port() {
  asio::io_context context(1);
  Tcp::acceptor const acceptor(context, Tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::printf("%u\n", static_cast<unsigned>(acceptor.local_endpoint().port()));
  return 0;
}

int run(std::vector<std::string> const& arguments) {
  if (arguments == std::vector<std::string>{"--free-port"}) return print_free_port();
  if (arguments.size() == 2 && arguments[0] == "--wait") return wait_for(parse_endpoint(arguments[1]));
  if (arguments.size() == 2 && arguments[0] == "--listens") return listens(parse_endpoint(arguments[1])) ? 0 : 1;
  if (arguments.size() < 2 || arguments.size() > 3) {
    std::fprintf(
        stderr,
        "usage: weir-demo-burst WEIR ORIGIN [CLIENTS] | --wait ADDRESS:PORT | --listens ADDRESS:PORT | --free-port\n");
    return 2;
  }
  std::size_t const clients = arguments.size() == 3 ? std::strtoul(arguments[2].c_str(), nullptr, 10) : 1000;
  return burst(parse_endpoint(arguments[0]), parse_endpoint(arguments[1]), std::clamp<std::size_t>(clients, 1, 20'000));
}

}  // namespace

int main(int argc, char** argv) {
  raise_descriptor_limit();
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (std::exception const& e) {
    std::fprintf(stderr, "weir-demo-burst: %s\n", e.what());
    return 1;
  }
}
