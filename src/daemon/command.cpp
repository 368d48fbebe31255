#include "weir/daemon/command.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "command_text.hpp"
#include "weir/admin/client.hpp"
#include "weir/admin/server.hpp"
#include "weir/daemon/options.hpp"

namespace weir::daemon {
namespace {

namespace bj = boost::json;

constexpr int exit_ok = 0, exit_run_time = 1, exit_usage = 2;

// What all commands take, and what they make of their own arguments: `order` is complete when `finish` has run.
struct Command {
  explicit Command(std::string_view name, std::string const& what) : app(what, "weir " + std::string(name)) {
    app.add_option("--admin", address, "the admin listener, host:port or unix:/path (127.0.0.1:9640)")->type_name("ADDRESS");
    app.add_option("-c,--config", file, "take its address and token from this configuration")->type_name("FILE");
    app.add_option("--token-file", token_file, "the file that holds its token")->type_name("FILE");
    app.add_flag("--json", as_json, "print what it answers as it is");
  }

  CLI::App app;
  std::string address, file, token_file;
  bool as_json = false;
  admin::Order order;
  std::function<void()> finish = [] {};  // after parsing; throws CLI::ValidationError
  void (*print)(bj::value const&, std::ostream&) = nullptr;

  // The command's own.
  std::vector<std::string> words, prefixes, tags, headers;
  std::string site, method = "GET", client, lasts;
  bool all = false, hard = false, dry_run = false;
};

bj::array texts(std::vector<std::string> const& from) {
  bj::array array;
  for (auto const& text : from) array.emplace_back(text);
  return array;
}

void prepare_purge(Command& command) {
  auto& app = command.app;
  app.add_option("url", command.words, "URLs, or paths of the site")->type_name("URL");
  app.add_option("--prefix", command.prefixes, "all below it; ends with /; may be repeated")
      ->type_name("URL")
      ->allow_extra_args(false);
  app.add_option("--tag", command.tags, "surrogate tag or cache group; may be repeated")
      ->type_name("TAG")
      ->allow_extra_args(false);
  app.add_option("--site", command.site, "of paths and tags; alone: all of it")->type_name("NAME");
  app.add_flag("--all", command.all, "everything");
  app.add_flag("--hard", command.hard, "gone at once; else stale from now");
  app.add_flag("--dry-run", command.dry_run, "only tell how much it would hit");
  command.print = print_purge;
  command.order.method = "POST";
  command.order.target = "/v1/purge";
  command.finish = [&command] {
    bj::object body{{"urls", texts(command.words)}, {"prefixes", texts(command.prefixes)},
                    {"tags", texts(command.tags)},  {"site", command.site},
                    {"all", command.all},           {"mode", command.hard ? "hard" : "soft"},
                    {"dry_run", command.dry_run}};
    command.order.body = bj::serialize(body);
  };
}

void prepare_explain(Command& command) {
  auto& app = command.app;
  app.add_option("url", command.words, "http://shop.example/a, or a path with -H \"Host: ...\"")
      ->type_name("URL")
      ->required()
      ->expected(1);
  app.add_option("-X,--method", command.method, "its method (GET)")->type_name("METHOD");
  app.add_option("-H,--header", command.headers, "a field of it; may be repeated")
      ->type_name("\"NAME: VALUE\"")
      ->allow_extra_args(false);
  app.add_option("--client", command.client, "the client's address (127.0.0.1)")->type_name("ADDRESS");
  command.print = print_explanation;
  command.finish = [&command] {
    auto& target = command.order.target;
    target = "/v1/explain?url=" + admin::escaped(command.words.front()) + "&method=" + admin::escaped(command.method);
    for (auto const& header : command.headers) target += "&header=" + admin::escaped(header);
    if (!command.client.empty()) target += "&client=" + admin::escaped(command.client);
  };
}

void prepare_mode(Command& command) {
  auto& app = command.app;
  app.add_option("mode", command.words, "normal, stale-on-error or bypass; none: tell it")
      ->type_name("MODE")
      ->expected(0, 1);
  app.add_option("--for", command.lasts, "until when it lasts, e.g. 10m; for all but normal")->type_name("DURATION");
  command.print = print_mode;
  command.order.target = "/v1/mode";
  command.finish = [&command] {
    if (command.words.empty()) return;
    bj::object body{{"mode", command.words.front()}};
    if (!command.lasts.empty()) body["for"] = command.lasts;
    command.order.method = "PUT";
    command.order.body = bj::serialize(body);
  };
}

struct Known {
  std::string_view name;
  char const* what;
  void (*prepare)(Command&);
};

constexpr std::array<Known, 6> known{{
    {"purge", "Makes what is stored invalid: soft (stale from now) or hard (gone).", prepare_purge},
    {"stats", "Tells what Weir has done since it started, and how things stand.",
     [](Command& command) {
       command.order.target = "/v1/stats";
       command.print = print_stats;
     }},
    {"explain", "Tells what would become of a request now, and why, without doing it.", prepare_explain},
    {"mode", "Tells or sets the incident mode.", prepare_mode},
    {"reload", "Reads the configuration again; a bad one changes nothing.",
     [](Command& command) {
       command.order.method = "POST";
       command.order.target = "/v1/reload";
       command.print = print_reload;
     }},
    {"drain", "Ends Weir when the requests under way are answered.",
     [](Command& command) {
       command.order.method = "POST";
       command.order.target = "/v1/drain";
       command.print = print_drain;
     }},
}};

// False: told to the user already.
bool find_door(Command& command, char const* const* environment) {
  if (!command.file.empty()) {
    std::array<char const*, 3> const arguments{"weir", "-c", command.file.c_str()};
    auto const options = parse_options(static_cast<int>(arguments.size()), arguments.data(), environment);
    if (options.action == Action::exit) return false;
    auto const loaded = config::load(options.sources);
    for (auto const& mistake : loaded.mistakes) std::cerr << "weir: " << mistake.text() << '\n';
    if (!loaded.settings) return false;
    command.order.address = loaded.settings->admin.listen;
    command.order.token = loaded.settings->admin.token;
  }
  if (!command.address.empty()) command.order.address = command.address;
  if (command.token_file.empty()) return true;
  auto const token = admin::read_token(command.token_file);
  if (!token) std::cerr << "weir: " << token.error().text << '\n';
  if (!token) return false;
  command.order.token = *token;
  return true;
}

int tell(Command const& command, admin::Reply const& reply) {
  bool const good = reply.status >= 200 && reply.status < 300;
  // What was asked for is wrong: the same code as for a wrong command line.
  int const code = good ? exit_ok : reply.status == 400 || reply.status == 422 ? exit_usage : exit_run_time;
  if (command.as_json) {
    std::cout << reply.body;
    return code;
  }
  try {
    auto const answer = bj::parse(reply.body);
    if (good)
      command.print(answer, std::cout);
    else
      print_problem(answer, std::cerr);
    return code;
  } catch (std::exception const&) {  // another version's, or no Weir at all
    std::cerr << "weir: " << command.order.address << " answered " << reply.status << " in words that are not known:\n"
              << reply.body;
    return exit_run_time;
  }
}

}  // namespace

bool is_command(std::string_view word) noexcept {
  return std::ranges::any_of(known, [&](Known const& one) { return one.name == word; });
}

int run_command(int argc, char const* const* argv, char const* const* environment) {
  auto const& found = *std::ranges::find_if(known, [&](Known const& one) { return one.name == argv[1]; });
  Command command(found.name, found.what);
  found.prepare(command);
  try {
    command.app.parse(argc - 1, argv + 1);
    command.finish();
  } catch (CLI::ParseError const& error) { return command.app.exit(error) == 0 ? exit_ok : exit_usage; }
  if (!find_door(command, environment)) return exit_usage;
  auto const reply = admin::call(command.order);
  if (!reply) {
    std::cerr << "weir: " << reply.error() << '\n';
    return exit_run_time;
  }
  return tell(command, *reply);
}

}  // namespace weir::daemon
