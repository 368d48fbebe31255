#include "crowd.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <boost/algorithm/string/predicate.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace weir::stampede {

namespace asio = boost::asio;
using namespace demo;
using Steady = std::chrono::steady_clock;
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

namespace {

struct Meeting {
  Crowd const& crowd;
  Tcp::endpoint proxy;
  std::size_t missing;
  asio::steady_timer leader_goes, others_go;
};

// Whether the bytes behind the head are a whole body.
bool is_whole(Head const& head, std::string_view body, bool ended) {
  if (boost::algorithm::icontains(head.field("Transfer-Encoding"), "chunked")) return body.ends_with("0\r\n\r\n");
  if (head.field("Content-Length").empty()) return ended;
  return body.size() >= head.body_size;
}

asio::awaitable<void> read_answer(Tcp::socket& socket, Answer& answer, Steady::time_point began) {
  std::string buffer;
  auto const [error, size] = co_await asio::async_read_until(socket, asio::dynamic_buffer(buffer), "\r\n\r\n", awaited);
  if (error) co_return;
  Head head;
  head.text = answer.head = buffer.substr(0, size);
  answer.body = buffer.substr(size);
  std::from_chars(head.text.data() + 9, head.text.data() + 12, answer.status);
  std::string_view const length = head.field("Content-Length");
  std::from_chars(length.data(), length.data() + length.size(), head.body_size);
  char bytes[16 * 1024];
  for (bool ended = false; !(answer.complete = is_whole(head, answer.body, ended)) && !ended;) {
    if (!answer.body.empty() && answer.first_byte == Seconds(0)) answer.first_byte = Steady::now() - began;
    auto const [failure, count] = co_await socket.async_read_some(asio::buffer(bytes), awaited);
    if (failure && failure != asio::error::eof) break;
    ended = failure == asio::error::eof;
    answer.body.append(bytes, count);
  }
  answer.took = Steady::now() - began;
  if (answer.first_byte == Seconds(0)) answer.first_byte = answer.took;
}

asio::awaitable<void> leave_later(Tcp::socket& socket, asio::steady_timer& timer, Milliseconds time) {
  timer.expires_after(time);
  auto const [error] = co_await timer.async_wait(awaited);
  if (error) co_return;               // the answer came first
  boost::system::error_code ignored;  // it is closed either way
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

asio::awaitable<void> one_client(Meeting& meeting, std::size_t number, Answer& answer) {
  Crowd const& crowd = meeting.crowd;
  auto const executor = co_await asio::this_coro::executor;
  Tcp::socket socket(executor);
  auto const [refused] = co_await socket.async_connect(meeting.proxy, awaited);
  bool const is_leader = number == 0 && crowd.head_start > Milliseconds(0);
  if (--meeting.missing == 0) {
    meeting.others_go.expires_after(crowd.head_start);
    meeting.leader_goes.cancel();
  }
  if (meeting.missing != 0) co_await meeting.leader_goes.async_wait(awaited);
  if (!is_leader) co_await meeting.others_go.async_wait(awaited);
  if (refused) co_return;

  std::string const request = "GET " + crowd.target(number) + " HTTP/1.1\r\nHost: stampede.example\r\nAccept: */*\r\n\r\n";
  auto const began = Steady::now();
  auto const [error, sent] = co_await asio::async_write(socket, asio::buffer(request), awaited);
  if (error || sent == 0) co_return;
  bool const leaves = is_leader && crowd.leader_stays > Milliseconds(0);
  asio::steady_timer timer(executor);
  auto leaving = leave_later(socket, timer, leaves ? crowd.head_start + crowd.leader_stays : crowd.patience);
  bool left = false;
  asio::co_spawn(executor, std::move(leaving), [&left](std::exception_ptr failure) {
    report(failure);
    left = true;
  });
  co_await read_answer(socket, answer, began);
  // The other coroutine lives on this frame.
  while (!left) {
    timer.cancel();
    co_await asio::post(executor, asio::use_awaitable);
  }
}

}  // namespace

std::vector<Answer> ask(Tcp::endpoint proxy, Crowd const& crowd) {
  asio::io_context context(1);
  std::vector<Answer> answers(crowd.clients);
  auto const never = Steady::time_point::max();
  Meeting meeting{crowd, proxy, crowd.clients, asio::steady_timer(context, never), asio::steady_timer(context, never)};
  for (std::size_t i = 0; i < answers.size(); ++i) asio::co_spawn(context, one_client(meeting, i, answers[i]), report);
  context.run();
  if (crowd.leader_stays > Milliseconds(0)) answers.erase(answers.begin());
  return answers;
}

}  // namespace weir::stampede
