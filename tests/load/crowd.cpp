#include "load/crowd.hpp"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "support/client.hpp"

namespace weir::load {
namespace {

constexpr std::size_t block_size = 64 * 1024;
constexpr std::size_t most_complaints = 5;
constexpr base::Duration longest_silence = std::chrono::seconds(60);

std::string excerpt(std::string_view text) { return std::string(text.substr(0, 80)); }

}  // namespace

void Latencies::add(base::Duration taken) {
  auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(taken.count() / 1000, 0));
  us = std::min<std::uint64_t>(us, (1U << 26U) - 1);
  unsigned shift = 0;
  for (auto rest = us; rest >= 64; rest >>= 1U) ++shift;
  ++counts_[std::size_t{shift} * 64 + (us >> shift)];
  ++total_;
}

double Latencies::milliseconds(double quantile) const {
  auto left = static_cast<std::uint64_t>(quantile * static_cast<double>(total_));
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > left) return static_cast<double>((i % 64) << (i / 64)) / 1000;
    left -= counts_[i];
  }
  return 0;
}

Crowd::Crowd(std::uint16_t port, Plan plan)
    : port_(port),
      plan_(std::move(plan)),
      random_(plan_.seed),
      clients_(plan_.clients),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  thread_ = std::thread([this] { run(); });
}

Crowd::~Crowd() { stop(); }

Tally const& Crowd::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  clients_.clear();
  return tally_;
}

void Crowd::run() {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    open(i);
    resting_.emplace_back(Clock::now(), i);
  }
  std::array<epoll_event, 256> events;
  while (!stopping_ || owed_ > 0) {
    int const timeout = wake_asked();
    int const ready = ::epoll_wait(epoll_.fd(), events.data(), static_cast<int>(events.size()), timeout);
    for (int i = 0; i < ready; ++i) receive(events[static_cast<std::size_t>(i)].data.u64);
    if (ready == 0) lose_the_silent();
  }
}

// Those who have rested ask; how long nobody will, in milliseconds.
int Crowd::wake_asked() {
  constexpr int look_around = 100;
  while (!resting_.empty() && !stopping_) {
    auto const left = resting_.front().first - Clock::now();
    if (left > base::Duration::zero())
      return static_cast<int>(std::min<std::int64_t>(std::chrono::ceil<Milliseconds>(left).count(), look_around));
    auto const index = resting_.front().second;
    resting_.pop_front();
    ask(index);
  }
  return look_around;
}

void Crowd::open(std::size_t index) {
  auto& client = clients_[index];
  client.buffer.clear();
  client.socket = test::connect_to(port_, plan_.options);
  if (!client.socket) return complain("cannot connect");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = index;
  ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, client.socket.fd(), &event);
}

void Crowd::ask(std::size_t index) {
  auto& client = clients_[index];
  client.ask = plan_.next(random_);
  client.reader = test::ResponseReader(client.ask.method);
  client.sent = Clock::now();
  client.waits = true;
  ++owed_;
  auto const request = test::write_request(client.ask.method, client.ask.target, client.ask.fields, client.ask.body);
  if (!client.socket.send_all(request)) lose(index, "takes no request");
}

void Crowd::receive(std::size_t index) {
  auto& client = clients_[index];
  std::array<char, block_size> block;
  ssize_t const got = ::recv(client.socket.fd(), block.data(), block.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    if (client.waits) return lose(index, got == 0 ? "closed" : "reset");
    ++tally_.closed;
    return open(index);
  }
  client.buffer.append(block.data(), static_cast<std::size_t>(got));
  if (!client.waits) return lose(index, "sends what nobody asked for");
  if (!client.reader.take(client.buffer)) return;
  auto const response = client.reader.so_far(test::End::whole);
  client.waits = false;
  --owed_;
  judge(index, response);
  if (response.end == test::End::malformed || response.value("Connection") == "close") open(index);
  resting_.emplace_back(Clock::now() + plan_.pause, index);
}

void Crowd::judge(std::size_t index, Response const& response) {
  auto& client = clients_[index];
  tally_.latencies.add(Clock::now() - client.sent);
  ++tally_.answers;
  ++answers_;
  ++tally_.statuses[response.status];
  auto const wrong = response.problem.empty() ? plan_.judge({client.ask, response, client.sent}) : response.problem;
  if (wrong.empty()) return;
  ++tally_.wrong;
  complain(client.ask.method + " " + excerpt(client.ask.target) + ": " + wrong + " (" + std::to_string(response.status) +
           ", " + response.value("Cache-Status") + response.value("Proxy-Status") + ")");
}

void Crowd::lose(std::size_t index, std::string const& why) {
  auto& client = clients_[index];
  ++tally_.lost;
  if (client.waits) --owed_;
  client.waits = false;
  complain(client.ask.method + " " + excerpt(client.ask.target) + ": the connection " + why);
  open(index);
  resting_.emplace_back(Clock::now() + plan_.pause, index);
}

void Crowd::lose_the_silent() {
  auto const now = Clock::now();
  for (std::size_t i = 0; i < clients_.size(); ++i)
    if (clients_[i].waits && now - clients_[i].sent > longest_silence) lose(i, "is silent");
}

void Crowd::complain(std::string const& what) {
  if (tally_.complaints.size() < most_complaints) tally_.complaints.push_back(what);
}

std::string judge_body(Answered const& answered, base::Duration oldest) {
  auto const& response = answered.response;
  if (response.status != 200) return "not answered with 200";
  auto const made = read_stamp(response.body, answered.ask.target);
  if (!made) return "a wrong body of " + std::to_string(response.body.size()) + " bytes: " + excerpt(response.body);
  if (*made < answered.ask.not_before) return "made before what it was purged by";
  if (answered.sent - *made <= oldest) return {};
  std::ostringstream text;
  text << "made " << std::chrono::duration<double>(answered.sent - *made).count() << " s before it was asked for, after "
       << std::chrono::duration<double>(oldest).count() << " s at most";
  return text.str();
}

}  // namespace weir::load
