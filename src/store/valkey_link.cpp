#include "valkey_link.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "scripts.hpp"
#include "weir/base/assert.hpp"

namespace weir::store {
namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t read_size = std::size_t{64} * 1024;
constexpr std::int64_t longest_time = 1'000'000'000'000;  // s: what no clock says, and µs can still count

}  // namespace

std::string_view describe(LinkFault fault) noexcept {
  switch (fault) {
    case LinkFault::timeout:
      return "no answer in time";
    case LinkFault::broken:
      return "the connection ended";
    case LinkFault::refused:
      return "no connection";
    case LinkFault::overloaded:
      return "too many questions wait";
    case LinkFault::none:
    case LinkFault::guarded:
      break;
  }
  return "";
}

struct ValkeyLink::Question {
  Question(asio::io_context& io, std::size_t r, std::size_t s, base::SteadyTime d)
      : replies(r), size(s), due(d), done(io, d) {}
  std::size_t replies;  // expected
  std::size_t size;     // of the commands
  base::SteadyTime due;
  asio::basic_waitable_timer<base::Clock> done;  // cancelled when it is over
  bool over = false, abandoned = false, greets = false, loads = false;
  Answers answers;
  base::SteadyTime asked{};
};

// Whoever asked has gone, by an exception too: nobody waits for the reply.
struct ValkeyLink::Asking {
  Question& question;
  ~Asking() {
    if (!question.over) question.abandoned = true;
  }
};

// What hears the end of reading or of writing; destroyed unheard is an end too.
struct ValkeyLink::End {
  explicit End(std::shared_ptr<ValkeyLink> l) noexcept : link(std::move(l)), life(link->life_) {}
  End(End&&) noexcept = default;
  End& operator=(End&&) = delete;
  ~End() {
    bool const lost = link && !well && link->life_ == life;
    if (lost && !link->io_.stopped()) link->fail(LinkFault::broken);  // no memory: those who wait are told
  }
  void operator()(std::exception_ptr const& failure) { well = !failure; }
  std::shared_ptr<ValkeyLink> link;
  std::uint64_t life;
  bool well = false;
};

ValkeyLink::ValkeyLink(asio::io_context& io, LinkRules const& rules, ServerClock* clock, Guard* guard)
    : io_(io), rules_(rules), clock_(clock), guard_(guard), dialer_(io, rules.peer), overdue_timer_(io) {}

ValkeyLink::~ValkeyLink() = default;

asio::awaitable<Answers> ValkeyLink::ask(Commands commands, base::Duration limit) {
  auto const now = base::Clock::now();
  if (closed_ || (guard_ != nullptr && !guard_->admits(now))) co_return Answers{LinkFault::guarded, {}};
  if (waiting_.size() >= most_waiting || unsent_.size() + commands.bytes.size() > most_unsent)
    co_return Answers{LinkFault::overloaded, {}};
  auto const self = shared_from_this();
  auto const question = enqueue(std::move(commands), now + limit);
  Asking const asking{*question};
  start();
  if (!question->over) co_await question->done.async_wait(tuple);
  if (!question->over) {
    question->abandoned = true;
    if (guard_ != nullptr && question->size < large) guard_->failed(base::Clock::now());
    watch_overdue();
    co_return Answers{LinkFault::timeout, {}};
  }
  co_return std::move(question->answers);
}

ValkeyLink::Waiting ValkeyLink::enqueue(Commands commands, base::SteadyTime due) {
  auto question = std::make_shared<Question>(io_, commands.replies, commands.bytes.size(), due);
  auto const before = unsent_.size();
  unsent_ += commands.bytes;
  try {
    waiting_.push_back(question);
  } catch (std::bad_alloc const&) {  // what nobody waits for must not be sent: replies come in order
    unsent_.resize(before);
    throw;
  }
  return question;
}

// What was asked goes out: on a new connection if there is none.
void ValkeyLink::start() noexcept {
  bool const connects = state_ == State::idle, writes = state_ == State::connected && !writing_;
  if (!connects && !writes) return;
  if (connects) {
    state_ = State::connecting;
    ++life_;
  } else {
    writing_ = true;
  }
  End end(shared_from_this());
  try {
    asio::co_spawn(io_, connects ? run(life_) : write(life_), std::move(end));
  } catch (std::exception const&) {
    return;  // its end told those who wait
  }
}

asio::awaitable<void> ValkeyLink::run(std::uint64_t life) {
  auto const self = shared_from_this();
  if (!co_await open(life)) co_return life == life_ ? fail(LinkFault::refused) : void();
  auto const stream = stream_;
  ReplyReader reader(rules_.most_reply);
  std::vector<char> buffer(read_size);
  start();  // here and in `take`: a write may fail at once, and with it this life is over
  while (life == life_) {
    auto const got = co_await stream->read_some(buffer);
    if (life != life_) co_return;
    if (got.error || !reader.feed({buffer.data(), got.bytes})) co_return fail(LinkFault::broken);
    while (auto reply = reader.next()) {
      bool const taken = take(std::move(*reply));
      if (life != life_) co_return;
      if (!taken) co_return fail(LinkFault::broken);
    }
    if (reader.broken()) co_return fail(LinkFault::broken);
  }
}

// Connects, and puts the greeting before all that waits.
asio::awaitable<bool> ValkeyLink::open(std::uint64_t life) {
  wire::Stream::Socket socket(io_);
  auto const dialled = co_await dialer_.connect(socket, base::Clock::now() + rules_.connect_timeout);
  if (life != life_ || dialled != wire::Dialled::connected) co_return false;
  stream_ = std::make_shared<wire::Stream>(std::move(socket));
  Commands greeting;
  if (!rules_.username.empty())
    greeting.add({"AUTH", rules_.username, rules_.password});
  else if (!rules_.password.empty())
    greeting.add({"AUTH", rules_.password});
  if (rules_.database != 0) greeting.add({"SELECT", std::to_string(rules_.database)});
  greeting.add({"CLIENT", "SETNAME", "weir"});
  for (auto const* const script : scripts()) greeting.add({"SCRIPT", "LOAD", script->text});
  greeting.add({"TIME"});
  auto question = std::make_shared<Question>(io_, greeting.replies, greeting.bytes.size(), base::SteadyTime::max());
  question->greets = question->abandoned = true;  // nobody waits for it
  question->due = base::Clock::now() + rules_.connect_timeout;
  question->asked = base::Clock::now();
  waiting_.push_front(std::move(question));
  unsent_.insert(0, greeting.bytes);
  state_ = State::connected;
  watch_overdue();
  co_return true;
}

asio::awaitable<void> ValkeyLink::write(std::uint64_t life) {
  auto const self = shared_from_this();
  auto const stream = stream_;
  while (life == life_ && !unsent_.empty()) {
    auto const bytes = std::exchange(unsent_, {});
    auto const sent = co_await stream->write(asio::buffer(bytes));
    if (life == life_ && sent.error) co_return fail(LinkFault::broken);
  }
  if (life == life_) writing_ = false;
}

// False: the server does not keep to the protocol, or did not let us in.
bool ValkeyLink::take(Reply reply) {
  if (hear_ && reply.is_array() && reply.size() >= 3) {
    auto const kind = reply[0].text();
    if (kind == "message") {
      hear_(reply);
      return true;
    }
  }
  if (waiting_.empty()) return false;
  auto& question = *waiting_.front();
  if (!question.abandoned || question.greets) question.answers.replies.push_back(std::move(reply));
  if (--question.replies > 0) return true;
  auto const finished = std::move(waiting_.front());
  waiting_.pop_front();
  bool const good = finish(*finished);
  if (good) watch_overdue();
  return good;
}

bool ValkeyLink::finish(Question& question) noexcept {
  auto& replies = question.answers.replies;
  auto const wrong = std::find_if(replies.begin(), replies.end(), [](Reply const& reply) { return reply.is_error(); });
  bool const error = wrong != replies.end();
  if (question.greets) {
    turned_away_ = error ? std::move(*wrong) : Reply();
    if (error) return false;
    auto const time = replies.back();
    auto const seconds = time[0].number();
    auto const micros = time[1].number();
    if (!seconds || !micros || *seconds < 0 || *seconds > longest_time || *micros < 0 || *micros >= 1'000'000) return false;
    if (clock_ != nullptr) clock_->set(question.asked, base::Clock::now(), *seconds * 1'000'000 + *micros);
    return true;
  }
  if (question.loads) loading_ = false;
  if (question.abandoned) return true;
  auto const forgotten = [](Reply const& reply) { return reply.error().starts_with("NOSCRIPT"); };
  if (std::any_of(replies.begin(), replies.end(), forgotten) && !load_scripts()) return false;
  question.answers.fault = LinkFault::none;
  question.over = true;
  if (guard_ != nullptr) {
    if (!error)
      guard_->succeeded();
    else if (question.size < large)
      guard_->failed(base::Clock::now());
  }
  question.done.cancel();
  return true;
}

// A server may forget scripts while connections stay (SCRIPT FLUSH). Nobody waits for it. False: no memory.
bool ValkeyLink::load_scripts() noexcept try {
  if (std::exchange(loading_, true)) return true;
  Commands commands;
  for (auto const* const script : scripts()) commands.add({"SCRIPT", "LOAD", script->text});
  auto const question = enqueue(std::move(commands), base::Clock::now() + rules_.connect_timeout);
  question->abandoned = question->loads = true;
  start();
  watch_overdue();
  return true;
} catch (std::bad_alloc const&) { return false; }

void ValkeyLink::fail(LinkFault fault) noexcept {
  ++life_;
  loading_ = false;
  state_ = State::idle;
  writing_ = false;
  unsent_.clear();
  overdue_timer_.cancel();
  watching_ = false;
  if (auto const stream = std::exchange(stream_, nullptr)) stream->close();
  auto const now = base::Clock::now();
  while (!waiting_.empty()) {
    auto const question = std::move(waiting_.front());
    waiting_.pop_front();
    if (question->abandoned) continue;
    if (guard_ != nullptr && question->size < large) guard_->failed(now);
    question->answers = {fault, {}};
    question->over = true;
    question->done.cancel();
  }
  if (hear_ && !closed_) hear_(Reply());
}

// VAL-1: a reply that nobody waits for any more may be late for so long. Called whenever the oldest question becomes such a
// one: by its time limit, or by the answer to the one before it.
void ValkeyLink::watch_overdue() {
  if (closed_ || waiting_.empty() || !waiting_.front()->abandoned) return;
  auto const at = waiting_.front()->due + overdue;
  if (watching_ && overdue_timer_.expiry() <= at) return;
  watching_ = false;
  overdue_timer_.expires_at(at);
  overdue_timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (error) return;
    self->watching_ = false;
    if (self->waiting_.empty() || self->closed_) return;
    auto const& first = *self->waiting_.front();
    if (first.abandoned && base::Clock::now() >= first.due + overdue) return self->fail(LinkFault::timeout);
    self->watch_overdue();
  });
  watching_ = true;
}

void ValkeyLink::close() noexcept {
  closed_ = true;
  fail(LinkFault::broken);
}

}  // namespace weir::store
