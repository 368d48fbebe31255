// {"urls":["http://shop.example/a"],"headers":{"Accept-Encoding":"br"}}
#include "warm_endpoint.hpp"

#include <boost/json/serialize.hpp>

#include "members.hpp"
#include "weir/observe/json_text.hpp"

namespace weir::admin {

namespace bj = boost::json;

Answer answer_warm(proxy::WarmProgress const& progress) {
  bj::array failures;
  for (auto const& [url, why] : progress.failures)
    failures.push_back(bj::object{{"url", observe::valid_utf8(url)}, {"why", why}});
  bj::object const body{{"id", progress.id == 0 ? bj::value(nullptr) : bj::value(progress.id)},
                        {"total", progress.total},
                        {"done", progress.done},
                        {"skipped", progress.skipped},
                        {"failed", progress.failed},
                        {"under_way", progress.under_way},
                        {"ended", progress.ended},
                        {"failures", std::move(failures)}};
  return json(200, bj::serialize(body) + "\n");
}

Answer begin_warm(Sources const& sources, Call const& call) {
  boost::system::error_code error;
  auto const parsed = bj::parse(call.body, error);
  if (error || !parsed.is_object()) return problem(400, "bad-json", "the body is one JSON object");
  proxy::WarmOrder order;
  Members members(parsed.get_object());
  members.read("urls", order.urls);
  members.read("headers", order.fields);
  if (auto const mistakes = members.finish("urls and headers"); !mistakes.empty()) return mistaken("bad-warm", mistakes);
  auto const begun = sources.warm(std::move(order));
  if (!begun.mistakes.empty()) return mistaken("bad-warm", begun.mistakes);
  if (begun.id == 0) return problem(409, "warm-under-way", "another list is being warmed, or a drain has begun");
  return json(202, bj::serialize(bj::object{{"id", begun.id}, {"total", begun.total}}) + "\n");
}

}  // namespace weir::admin
