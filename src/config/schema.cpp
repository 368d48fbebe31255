// JSON Schema (draft 2020-12) of the file. Each group is one definition, however often it stands in the file.
#include <boost/json.hpp>

#include "description.hpp"

namespace weir::config {
namespace {

using Shape = Description::Shape;

class Schema {
 public:
  boost::json::object whole(Description const& description) {
    boost::json::object out{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Weir's configuration"}};
    for (auto const& member : group(description)) out[member.key()] = member.value();
    boost::json::array required{"version", "origins"};
    out["required"] = std::move(required);
    out["$defs"] = std::move(definitions_);
    return out;
  }

 private:
  boost::json::object group(Description const& description) {
    boost::json::object properties;
    boost::json::array required;
    for (KeyDescription const& key : description.keys) {
      boost::json::object schema = value(key.value);
      schema["description"] = key.help;
      if (key.required) required.push_back(boost::json::string(key.name));
      properties[key.name] = std::move(schema);
    }
    boost::json::object out{
        {"type", {"object", "null"}}, {"additionalProperties", false}, {"properties", std::move(properties)}};
    if (!required.empty()) out["required"] = std::move(required);
    return out;
  }

  boost::json::object value(Description const& description) {
    if (description.shape == Shape::value) return description.schema;
    if (!definitions_.contains(description.group)) {
      definitions_[description.group] = nullptr;  // its place, in the order of the file
      definitions_[description.group] = group(description);
    }
    boost::json::object element{{"$ref", "#/$defs/" + description.group}};
    if (!description.schema.empty()) element = {{"anyOf", {element, description.schema}}};
    if (description.shape == Shape::groups) return {{"type", "array"}, {"items", std::move(element)}};
    if (description.shape == Shape::named_groups)
      return {{"type", {"object", "null"}}, {"additionalProperties", std::move(element)}};
    return element;
  }

  boost::json::object definitions_;
};

}  // namespace

std::string json_schema() { return boost::json::serialize(Schema().whole(settings_group().describe())); }

}  // namespace weir::config
