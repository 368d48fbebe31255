// From text to Settings, with every mistake listed. Reads files only where a key names one (`*_file`). Threads: start-up
// and the reloading thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/config/settings.hpp"

namespace weir::config {

struct Mistake {
  std::string file;
  int line = 0, column = 0;       // 1-based; 0: not from a file (flag, environment)
  std::string path;               // "sites[0].routes[2].path"
  std::string what;               // "unknown key; did you mean `paths`?"
  std::string text() const;       // "weir.yaml:12:5: sites[0].routes[2].path: ..."
};

struct Sources {
  std::string file;                                             // name for messages; "" when there is no file
  std::string yaml;                                             // its text
  std::vector<std::pair<std::string, std::string>> environment; // all variables; only WEIR__* and ${NAME} references are used
  std::vector<std::pair<std::string, std::string>> set;         // --set path=value, in order; later wins, over environment, over file
  std::string origin;                                           // --origin URL: origin "default"
  std::vector<std::string> listen;                              // --listen
};

struct Loaded {
  std::optional<Settings> settings;                             // only if there is no mistake
  std::vector<Mistake> mistakes;
  std::vector<std::string> warnings;
  // With mistakes: what could be read all the same, so that whoever looks further tells all mistakes at once.
  std::optional<Settings> partly{};

  Settings const* known() const noexcept { return settings ? &*settings : partly ? &*partly : nullptr; }
  // Whether a mistake is known in a group ("listen", "store"): what else is wrong there may follow from it.
  bool is_wrong_in(std::string_view group) const noexcept;
};

Loaded load(Sources const& sources);

// The effective configuration as YAML (-T) and JSON (/v1/config), secrets as "***".
std::string dump_yaml(Settings const& settings);
std::string dump_json(Settings const& settings);
// JSON Schema (draft 2020-12) from the same description as the loader.
std::string json_schema();

// "250ms", "10s", "5m", "1h", "1d"; "off" and "0s" are 0.
std::optional<Duration> parse_duration(std::string_view text);
// "64KiB", "512MiB", "1GiB", "100B"; a bare number is refused.
std::optional<std::uint64_t> parse_size(std::string_view text);
std::optional<Network> parse_network(std::string_view text);

}  // namespace weir::config
