#include "weir/daemon/options.hpp"

#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include <CLI/CLI.hpp>

#include "weir/observe/build.hpp"

namespace weir::daemon {
namespace {

// Empty, or what is wrong.
std::string read_file(std::string const& path, std::string& text) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  bool const empty = in.is_open() && in.peek() == std::ifstream::traits_type::eof() && !in.bad();
  if (in && !empty) all << in.rdbuf();  // which fails where there is nothing
  if (!in.is_open() || in.bad() || !all) return std::string("cannot be read: ") + std::strerror(errno);
  text = std::move(all).str();
  return {};
}

}  // namespace

config::Loaded load_again(config::Sources sources) {
  if (!sources.file.empty()) {
    if (auto const wrong = read_file(sources.file, sources.yaml); !wrong.empty())
      return {std::nullopt, {{sources.file, 0, 0, "", wrong}}, {}};
  }
  return config::load(sources);
}

Options parse_options(int argc, char const* const* argv, char const* const* environment) {
  Options options;
  auto& sources = options.sources;
  bool test = false, dump = false;
  std::vector<std::string> set;

  CLI::App app{"Weir: an HTTP caching reverse proxy that lets no burst through to the origin", "weir"};
  app.add_option("-c,--config", sources.file, "configuration file (YAML)")->type_name("FILE");
  app.add_option("--origin", sources.origin, "origin to stand in front of, e.g. http://127.0.0.1:9000")->type_name("URL");
  app.add_option("--listen", sources.listen,
                 "address to listen on, e.g. 0.0.0.0:8080 or unix:/run/weir.sock; may be repeated")
      ->type_name("ADDRESS");
  app.add_option("--set", set, "one setting, e.g. limiter.max_concurrent=32; may be repeated")->type_name("PATH=VALUE");
  app.add_option("--log-level", options.log_level, "debug, info, warning, error or off")->type_name("LEVEL");
  app.add_option("--log-format", options.log_format, "text or json")->type_name("FORMAT");
  app.add_flag("-t,--test", test, "check the configuration, print every mistake, and end");
  app.add_flag("-T,--dump-config", dump, "print the effective configuration and end");
  app.set_version_flag("-V,--version", std::string("weir ") + std::string(observe::version));
  app.footer("To a running Weir: weir purge|stats|explain|mode|reload|drain, each with --help");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    options.exit_code = app.exit(error) == 0 ? 0 : 2;
    return options;
  }

  for (auto const& assignment : set) {
    auto const equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      std::cerr << "weir: --set " << assignment << ": write PATH=VALUE\n";
      return options;
    }
    sources.set.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  if (!options.log_level.empty()) sources.set.emplace_back("log.level", options.log_level);
  if (!options.log_format.empty()) sources.set.emplace_back("log.format", options.log_format);
  for (auto entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view const text(*entry);
    if (auto const equals = text.find('='); equals != std::string_view::npos)
      sources.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (!sources.file.empty()) {
    if (auto const wrong = read_file(sources.file, sources.yaml); !wrong.empty()) {
      std::cerr << "weir: " << sources.file << ' ' << wrong << '\n';
      return options;
    }
  }
  options.action = test ? Action::test : dump ? Action::dump : Action::run;
  return options;
}

}  // namespace weir::daemon
