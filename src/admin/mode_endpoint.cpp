// {"mode":"stale-on-error","for":"10m"}. An incident that lasts longer than `longest` is said again.
#include "mode_endpoint.hpp"

#include <boost/json/serialize.hpp>

#include "members.hpp"
#include "weir/config/load.hpp"

namespace weir::admin {
namespace {

namespace bj = boost::json;

constexpr base::Duration shortest = std::chrono::seconds(1);
constexpr base::Duration longest = std::chrono::hours(24);

}  // namespace

Answer answer_mode(ModeLine const& mode) {
  bj::object body{{"mode", label(mode.mode)}, {"left_seconds", nullptr}};
  if (mode.mode != cache::Mode::normal) body["left_seconds"] = std::chrono::ceil<std::chrono::seconds>(mode.left).count();
  return json(200, bj::serialize(body) + "\n");
}

Answer change_mode(Sources const& sources, Call const& call) {
  boost::system::error_code error;
  auto const parsed = bj::parse(call.body, error);
  if (error || !parsed.is_object()) return problem(400, "bad-json", "the body is one JSON object");
  std::string word, duration;
  Members members(parsed.get_object());
  members.read("mode", word);
  members.read("for", duration);
  auto const mode = cache::parse_mode(word);
  auto const lasts = config::parse_duration(duration);
  if (!mode) members.mistake("mode", "normal, stale-on-error or bypass");
  if (mode == cache::Mode::normal && !duration.empty()) members.mistake("for", "for `normal`, which has no end");
  if (mode != cache::Mode::normal && (!lasts || *lasts < shortest || *lasts > longest))
    members.mistake("for", "a duration from 1s to 24h, such as 10m");
  if (auto const mistakes = members.finish("mode and for"); !mistakes.empty()) return mistaken("bad-mode", mistakes);
  sources.set_mode(*mode, lasts.value_or(base::Duration::zero()));
  return answer_mode(sources.mode());
}

}  // namespace weir::admin
