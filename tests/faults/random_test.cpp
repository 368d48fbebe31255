// Faults of all kinds in an order drawn from a seed, under all kinds of requests. WEIR_SEED in the environment is another
// seed; a failure names its own.
#include "faults/rig.hpp"

#include <cerrno>
#include <cstdio>
#include <random>
#include <thread>

#include "weir/base/turned_clock.hpp"

namespace weir::test {
namespace {

constexpr std::size_t targets = 60;
constexpr char const* settings =
    "breaker: {open: 1s, open_max: 2s}\nnegative: {ttl: 1s}\nstorable: {max_object: 64KiB}\n"
    "purge: {allow: [\"127.0.0.1\"]}\nlimiter: {max_concurrent: 6, max_queue: 4}\ncoalesce: {max_waiters: 6}\n";

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(engine_); }
  bool one_in(std::uint64_t odds) { return below(odds) == 0; }
  template <class T>
  T const& of(std::vector<T> const& some) {
    return some[below(some.size())];
  }

 private:
  std::mt19937_64 engine_;
};

// What a target's body is, however often it was fetched; some are larger than may be stored.
std::string body_of(std::string const& target) {
  auto const number = std::stoul(target.substr(1));
  std::string body = target + '|';
  body.append(number % 7 == 0 ? 150'000 : number * 131 % 9'000, static_cast<char>('a' + number % 26));
  return body;
}

// The origin has its own bad days. Its thread draws by what it has answered, so that the seed is the test's alone.
Script answer(Request const& request, std::uint64_t call) {
  bool const known = request.target.size() > 1 && request.target.find_first_not_of("0123456789", 1) == std::string::npos;
  EXPECT_TRUE(known) << request;
  if (!known) return respond(400);
  auto const number = std::stoul(request.target.substr(1));
  auto const body = body_of(request.target);
  if (request.method != "GET" && request.method != "HEAD") return respond(200, {}, body);
  Fields fields{{"Cache-Control", number % 3 == 0   ? "max-age=5, stale-while-revalidate=20, stale-if-error=60"
                                  : number % 3 == 1 ? "max-age=30"
                                                    : "no-cache"},
                {"ETag", "\"" + request.target + "\""}};
  if (number % 5 == 0) fields.push_back({"Vary", "Accept-Language"});
  if (number % 11 == 0) fields.push_back({"Set-Cookie", "a=b"});
  switch (call % 23) {
    case 3:
      return reset();
    case 7:
      return respond(503, {}, "no");
    case 11:
      return respond(200, fields, body).reset_after(number * 37 % 400);
    case 17:
      return respond(200, fields, body).close_after(number * 91 % 9'000);
    default:
      break;
  }
  if (request.value("If-None-Match") == "\"" + request.target + "\"") return respond(304, fields);
  if (number % 4 == 1) return respond_chunked(200, fields, {body.substr(0, body.size() / 2), body.substr(body.size() / 2)});
  return respond(200, fields, body);
}

std::string draw_request(Draw& draw) {
  auto const target = "/" + std::to_string(draw.below(targets));
  Fields fields;
  if (draw.one_in(4)) fields.push_back({"Accept-Language", draw.one_in(2) ? "de" : "fr"});
  if (draw.one_in(8)) fields.push_back({"Cookie", "session=1"});
  if (draw.one_in(10)) fields.push_back({"Authorization", "Basic YTpi"});
  if (draw.one_in(12)) return write_request("PURGE", target);
  if (draw.one_in(12)) return write_request("DELETE", target);
  if (draw.one_in(9)) return write_request("POST", target, {}, std::string(draw.below(40'000), 'p'));
  return write_request("GET", target, fields);
}

void draw_fault(Draw& draw) {
  switch (draw.below(5)) {
    case 0:
    case 1:
      return allocations::fail({1 + draw.below(150), 1});
    case 2: {
      static std::vector<Call> const kinds{Call::receive, Call::send,   Call::connect,
                                           Call::socket,  Call::accept, Call::watch};
      static std::vector<int> const errors{ECONNRESET, EINTR, ENOBUFS, ENOMEM, EMFILE};
      return calls::fail(draw.of(kinds), draw.of(errors), {1 + draw.below(12), 1 + draw.below(3)});
    }
    case 3:
      return calls::shrink_buffers(1);
    default:
      return;
  }
}

struct Ask {
  std::string bytes, target;
  bool leaves = false;
};

void expect_own_body(Ask const& ask, Response const& response) {
  EXPECT_NE(response.end, End::silence) << ask.bytes.substr(0, 200) << response;
  EXPECT_NE(response.end, End::malformed) << response;
  if (response.complete && response.status == 200 && !ask.bytes.starts_with("PURGE"))
    EXPECT_TRUE(response.body == body_of(ask.target)) << ask.target << response.head << response.body.substr(0, 100);
}

// What waits for a limit of time does not wait long: while a round takes more than a moment, the clock is turned.
class Turner {
 public:
  explicit Turner(Weir& weir)
      : thread_([this, &weir] {
          for (Deadline moment(Milliseconds(500)); !over_.load(); give_way()) {
            if (!moment.passed()) continue;
            if (std::getenv("WEIR_TELL") != nullptr) std::fprintf(stderr, "slow: %s\n", held(weir).c_str());
            weir.turn(3s);
            moment = Deadline(Milliseconds(100));
          }
        }) {}
  ~Turner() {
    over_ = true;
    thread_.join();
  }
  Turner(Turner const&) = delete;
  Turner& operator=(Turner const&) = delete;

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// Some clients at once, of which some leave.
void play(Draw& draw, Weir& weir) {
  std::vector<Ask> asks(1 + draw.below(6));
  auto const same = draw_request(draw);
  for (auto& ask : asks) {
    ask.bytes = draw.one_in(3) ? draw_request(draw) : same;
    auto const from = ask.bytes.find(' ') + 1;
    ask.target = ask.bytes.substr(from, ask.bytes.find(' ', from) - from);
    ask.leaves = draw.one_in(6);
  }
  draw_fault(draw);
  Burst burst(weir.port(), asks.size());
  burst.send_each([&](std::size_t client) { return asks[client].bytes; });
  for (std::size_t i = 0; i < asks.size(); ++i)
    if (asks[i].leaves) burst.reset(i);
  if (draw.one_in(5)) weir.turn(std::chrono::seconds(draw.below(8)));
  if (draw.one_in(9)) base::step_wall_clock((draw.one_in(2) ? 1h : -1h) * static_cast<int>(draw.below(1'000)));
  {
    Turner const turner(weir);
    burst.collect();
  }
  allocations::end();
  calls::end();
  auto const responses = burst.responses();
  for (std::size_t i = 0; i < asks.size(); ++i)
    if (!asks[i].leaves) expect_own_body(asks[i], responses[i]);
}

std::uint64_t seed() {
  auto const* const given = std::getenv("WEIR_SEED");
  return given == nullptr ? 20'261'130 : std::stoull(given);
}

// COA-6, COA-10, STO-1, LIM-1, CB-1, FRS-1: whatever happens, every client is told its own or nothing whole, and in the end
// nothing is held and everything is right again.
TEST(Random, FaultsLeaveNothingBehind) {
  ScriptedOrigin origin;
  std::atomic<std::uint64_t> calls_of_origin{0};
  std::atomic<bool> good{false};
  origin.answer_rest(
      [&](Request const& request) { return answer(request, good.load() ? 0 : calls_of_origin.fetch_add(1)); });
  Weir weir(origin, settings);
  mark_workers(weir);
  SCOPED_TRACE("WEIR_SEED=" + std::to_string(seed()));
  Draw draw(seed());
  std::size_t const rounds = all_cases() ? 20'000 : 600;
  for (std::size_t i = 0; i < rounds && !HasFailure(); ++i) {
    SCOPED_TRACE("round " + std::to_string(i));
    play(draw, weir);
    if (i % 50 != 49) continue;
    weir.turn(61s);  // a fetch that nobody waits for has had its time (COA-2)
    expect_quiet(weir);
  }
  good = true;
  weir.turn(300s);
  for (std::size_t number = 0; number < targets; ++number) {
    auto const target = "/" + std::to_string(number);
    auto response = get(weir.port(), target);
    EXPECT_EQ(response.status, 200) << response.head;
    EXPECT_TRUE(response.body == body_of(target)) << target;
  }
  expect_quiet(weir);
  std::printf("%zu rounds, %zu calls of the origin\n", rounds, origin.calls());
}

}  // namespace
}  // namespace weir::test
