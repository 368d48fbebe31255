#include "rows.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <thread>

#include <boost/algorithm/string/predicate.hpp>

namespace weir::stampede {

namespace {

using demo::Tcp;
constexpr Milliseconds expires_in{2500};  // well past max-age=1, also for those who count whole seconds

OriginAnswer usual() { return {}; }

OriginAnswer with(int status, std::string cache_control) {
  OriginAnswer answer;
  answer.status = status;
  answer.cache_control = std::move(cache_control);
  return answer;
}

OriginAnswer said(std::string body, std::string cache_control) {
  OriginAnswer answer = with(200, std::move(cache_control));
  answer.body = std::move(body);
  return answer;
}

// How often each status came; -200 for a 200 that was cut off, 0 for nothing.
std::string statuses(std::vector<Answer> const& answers) {
  std::map<int, std::size_t> counts;
  for (Answer const& answer : answers) ++counts[answer.complete ? answer.status : -answer.status];
  std::string text;
  for (auto const& [status, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) +
            (status > 0   ? " x " + std::to_string(status)
             : status < 0 ? " cut off"
                          : " without an answer");
  return text;
}

std::string in_seconds(Seconds time) {
  char text[32];
  std::snprintf(text, sizeof text, time < Seconds(1) ? "%.3f" : "%.2f", time.count());
  return text;
}

Outcome told(SlowOrigin const& origin, std::vector<Answer> const& answers) {
  Outcome outcome;
  outcome.calls = origin.calls();
  outcome.note = statuses(answers);
  std::vector<Seconds> times;
  for (Answer const& answer : answers)
    if (answer.status != 0) times.push_back(answer.took);
  if (times.empty()) return outcome;
  std::sort(times.begin(), times.end());
  outcome.median = times[times.size() / 2];
  outcome.last = times.back();
  return outcome;
}

std::size_t count_body(std::vector<Answer> const& answers, std::string const& body) {
  return static_cast<std::size_t>(std::count_if(
      answers.begin(), answers.end(), [&](Answer const& answer) { return answer.body.find(body) != std::string::npos; }));
}

Crowd many(std::size_t clients) {
  Crowd crowd;
  crowd.clients = clients;
  return crowd;
}

// Stores one answer and lets it expire.
void prime(SlowOrigin& origin, Tcp::endpoint proxy, OriginAnswer const& answer) {
  origin.script([&answer](unsigned) { return answer; });
  ask(proxy, many(1));
  std::this_thread::sleep_for(expires_in);
}

Outcome cold(SlowOrigin& origin, Tcp::endpoint proxy) {
  origin.script([](unsigned) { return usual(); });
  return told(origin, ask(proxy, many(1000)));
}

Outcome crowded(SlowOrigin& origin, Tcp::endpoint proxy) {
  origin.script([](unsigned) { return usual(); });
  return told(origin, ask(proxy, many(9000)));
}

Outcome expired(SlowOrigin& origin, Tcp::endpoint proxy) {
  prime(origin, proxy, said("the old one", "max-age=1"));
  origin.script([](unsigned) { return usual(); });
  auto const answers = ask(proxy, many(1000));
  Outcome outcome = told(origin, answers);
  if (auto const old = count_body(answers, "the old one")) outcome.note += ", " + std::to_string(old) + " of them stale";
  return outcome;
}

Outcome fails(SlowOrigin& origin, Tcp::endpoint proxy) {
  origin.script([](unsigned) { return with(500, ""); });
  return told(origin, ask(proxy, many(200)));
}

OriginAnswer first_hangs(unsigned call) {
  OriginAnswer answer = usual();
  answer.hangs = call == 1;
  return answer;
}

Outcome hangs(SlowOrigin& origin, Tcp::endpoint proxy) {
  origin.script(first_hangs);
  return told(origin, ask(proxy, many(50)));
}

Outcome late(SlowOrigin& origin, Tcp::endpoint proxy) {
  origin.script(first_hangs);
  Crowd impatient = many(20);
  impatient.patience = Milliseconds(1000);
  ask(proxy, impatient);
  std::this_thread::sleep_for(Milliseconds(11'000));
  return told(origin, ask(proxy, many(1)));
}

Outcome unshared(SlowOrigin& origin, Tcp::endpoint proxy) {
  origin.script([](unsigned call) { return said("number " + std::to_string(call) + ".", "private"); });
  auto const first = ask(proxy, many(50));
  std::set<std::string> bodies;
  for (Answer const& answer : first) bodies.insert(answer.body);
  Outcome outcome = told(origin, first);
  outcome.note +=
      ", " + std::to_string(bodies.size()) + " bodies, second wave " + in_seconds(told(origin, ask(proxy, many(50))).last);
  return outcome;
}

Outcome leader_leaves(SlowOrigin& origin, Tcp::endpoint proxy) {
  origin.script([](unsigned) { return usual(); });
  Crowd crowd = many(101);
  crowd.head_start = Milliseconds(20);
  crowd.leader_stays = Milliseconds(50);
  return told(origin, ask(proxy, crowd));
}

Outcome many_paths(SlowOrigin& origin, Tcp::endpoint proxy) {
  origin.script([](unsigned) { return usual(); });
  Crowd crowd = many(2000);
  crowd.target = [](std::size_t client) { return "/path/" + std::to_string(client); };
  auto const answers = ask(proxy, crowd);
  Outcome outcome = told(origin, answers);
  outcome.note += ", at most " + std::to_string(origin.most_at_once()) + " calls at once";
  std::size_t told_when = 0;
  for (Answer const& answer : answers)
    told_when += answer.status == 503 && boost::algorithm::icontains(answer.head, "\r\nRetry-After:");
  if (told_when != 0) outcome.note += ", " + std::to_string(told_when) + " with Retry-After";
  return outcome;
}

Outcome breaks(SlowOrigin& origin, Tcp::endpoint proxy) {
  origin.script([](unsigned) {
    OriginAnswer answer = said(std::string(100'000, 'x'), "max-age=60");
    answer.breaks = true;
    return answer;
  });
  return told(origin, ask(proxy, many(20)));
}

Outcome drips(SlowOrigin& origin, Tcp::endpoint proxy) {
  origin.script([](unsigned) {
    OriginAnswer answer = usual();
    answer.thinking = Milliseconds(0);
    answer.drip = Milliseconds(1000);
    return answer;
  });
  Crowd crowd = many(21);
  crowd.head_start = Milliseconds(300);
  auto answers = ask(proxy, crowd);
  answers.erase(answers.begin());  // who began it did not join it
  Seconds first{0};
  for (Answer const& answer : answers) first = std::max(first, answer.first_byte);
  Outcome outcome = told(origin, answers);
  outcome.note += ", first byte within " + in_seconds(first);
  return outcome;
}

Outcome stale_if_error(SlowOrigin& origin, Tcp::endpoint proxy) {
  prime(origin, proxy, said("the old one", "max-age=1, stale-if-error=600"));
  origin.script([](unsigned) { return with(503, ""); });
  auto const answers = ask(proxy, many(200));
  Outcome outcome = told(origin, answers);
  outcome.note += ", " + std::to_string(count_body(answers, "the old one")) + " of them stale";
  return outcome;
}

}  // namespace

std::vector<Row> const& rows() {
  static std::vector<Row> const all{
      {"cold", "cold key, 1,000 clients", "", cold},
      {"crowd", "cold key, 9,000 clients", "", crowded},
      {"expired", "expired key, 1,000 clients", "", expired},
      {"fails", "origin answers 500, 200 clients", "", fails},
      {"hangs", "first fetch hangs, 50 clients", "", hangs},
      {"late", "12 s after a stuck fetch began", "", late},
      {"private", "`private`, 50 clients", "limiter.max_partition_share=100", unshared},
      {"leader", "leader hangs up, 100 followers", "", leader_leaves},
      {"paths", "2,000 cold paths, `max_queue_wait` 15 s", "limiter.max_queue_wait=15s", many_paths},
      {"shed", "2,000 cold paths, as shipped", "", many_paths},
      {"breaks", "body breaks in the middle, 20 clients", "", breaks},
      {"drips", "20 join a body that drips for 1 s", "", drips},
      {"stale", "stale-if-error, origin 503, 200 clients", "", stale_if_error},
  };
  return all;
}

}  // namespace weir::stampede
