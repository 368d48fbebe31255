// POST /v1/purge (PRG-1): JSON to an order, and what became of it to JSON.
#include "purge_endpoint.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "weir/observe/json_text.hpp"

namespace weir::admin {
namespace {

namespace bj = boost::json;

// Takes known members one by one; what is of another type, or left over, is a mistake.
class OrderReader {
 public:
  explicit OrderReader(bj::object const& object) : object_(object) {}

  void read(std::string_view name, std::vector<std::string>& out) {
    auto const* const value = take(name);
    if (value == nullptr) return;
    auto const* const list = value->if_array();
    if (list == nullptr) return mistake(name, "a list of strings");
    for (auto const& item : *list) {
      if (!item.is_string() || item.get_string().empty()) return mistake(name, "a list of strings");
      out.emplace_back(item.get_string());
    }
  }
  void read(std::string_view name, std::string& out) {
    auto const* const value = take(name);
    if (value == nullptr) return;
    if (!value->is_string()) return mistake(name, "a string");
    out = value->get_string();
  }
  void read(std::string_view name, bool& out) {
    auto const* const value = take(name);
    if (value == nullptr) return;
    if (!value->is_bool()) return mistake(name, "true or false");
    out = value->get_bool();
  }
  void read(std::string_view name, cache::Invalidation& out) {
    std::string mode = "soft";
    read(name, mode);
    if (mode != "soft" && mode != "hard") return mistake(name, "soft or hard");
    out = mode == "hard" ? cache::Invalidation::hard : cache::Invalidation::soft;
  }
  std::vector<std::string> finish() {
    if (taken_ != object_.size()) mistakes_.emplace_back("known are urls, prefixes, tags, site, all, mode and dry_run");
    return std::move(mistakes_);
  }

 private:
  bj::value const* take(std::string_view name) {
    auto const* const value = object_.if_contains(name);
    taken_ += value != nullptr;
    return value;
  }
  void mistake(std::string_view name, std::string_view wanted) {
    mistakes_.push_back("`" + std::string(name) + "` is not " + std::string(wanted));
  }

  bj::object const& object_;
  std::size_t taken_ = 0;
  std::vector<std::string> mistakes_;
};

bj::array to_json(std::vector<std::string> const& texts) {
  bj::array array;
  for (auto const& text : texts) array.emplace_back(observe::valid_utf8(text));
  return array;
}

Answer mistaken(std::vector<std::string> const& mistakes) {
  bj::object const body{{"error", "bad-purge"}, {"mistakes", to_json(mistakes)}};
  return json(400, bj::serialize(body) + "\n");
}

}  // namespace

Answer answer_purge(Sources const& sources, Call const& call) {
  boost::system::error_code error;
  auto const parsed = bj::parse(call.body, error);
  if (error || !parsed.is_object()) return problem(400, "bad-json", "the body is one JSON object");
  proxy::PurgeOrder order;
  OrderReader reader(parsed.get_object());
  reader.read("urls", order.urls);
  reader.read("prefixes", order.prefixes);
  reader.read("tags", order.tags);
  reader.read("site", order.site);
  reader.read("all", order.all);
  reader.read("mode", order.mode);
  reader.read("dry_run", order.dry_run);
  if (auto const mistakes = reader.finish(); !mistakes.empty()) return mistaken(mistakes);
  auto const result = sources.purge(order);
  if (!result.mistakes.empty()) return mistaken(result.mistakes);
  bj::object body{{"mode", order.mode == cache::Invalidation::hard ? "hard" : "soft"},
                  {"dry_run", order.dry_run},
                  {"applied_to", to_json(result.applied_to)}};
  if (order.dry_run)
    body["entries"] = result.entries;
  else
    body["id"] = result.number;
  return json(200, bj::serialize(body) + "\n");
}

}  // namespace weir::admin
