// LCY-1: flags, environment and file, and what each may say.
#include <gmock/gmock.h>

#include <unistd.h>

#include "loading.hpp"

namespace weir::config::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Precedence, AnOriginFromTheFlagIsEnough) {
  Sources sources;
  sources.origin = "http://127.0.0.1:9000";
  auto const loaded = load(sources);
  ASSERT_TRUE(loaded.settings) << all_of(loaded);
  ASSERT_EQ(loaded.settings->sites.size(), 1U);
  EXPECT_EQ(loaded.settings->sites[0].name, "default");
  EXPECT_EQ(loaded.settings->sites[0].origin, "default");
  EXPECT_THAT(loaded.settings->sites[0].hosts, IsEmpty());
  EXPECT_EQ(loaded.settings->origins.at("default").name, "default");
  EXPECT_THAT(loaded.settings->origins.at("default").servers, ElementsAre("http://127.0.0.1:9000"));
}

TEST(Precedence, TheFlagsOriginBecomesTheFirst) {
  Sources sources = file(
      "version: 1\norigins: {app: {url: \"http://a\"}, default: {servers: [\"http://b\", \"http://c\"], retries: 2}}\n");
  sources.origin = "http://d/";
  auto const loaded = load(sources);
  ASSERT_TRUE(loaded.settings) << all_of(loaded);
  EXPECT_EQ(loaded.settings->sites[0].origin, "default");
  EXPECT_THAT(loaded.settings->origins.at("default").servers, ElementsAre("http://d"));
  EXPECT_EQ(loaded.settings->origins.at("default").retries, 2U);
}

TEST(Precedence, TheFirstOriginIsTheFirstInTheFile) {
  auto const loaded = load(file("version: 1\norigins: {zebra: {url: \"http://a\"}, ape: {url: \"http://b\"}}\n"));
  ASSERT_TRUE(loaded.settings) << all_of(loaded);
  EXPECT_EQ(loaded.settings->sites[0].origin, "zebra");
}

TEST(Precedence, SetOverEnvironmentOverFileOverDefault) {
  Sources sources = more("coalesce: {follower_max_wait: 2s, hold: 1KiB, hold_time: 2s}\n");
  auto const wait = [&] { return load(sources).settings->defaults.coalesce.follower_max_wait; };
  EXPECT_EQ(load(more("")).settings->defaults.coalesce.follower_max_wait, 10s);
  EXPECT_EQ(wait(), 2s);
  sources.environment = {{"WEIR__COALESCE__FOLLOWER_MAX_WAIT", "3s"}};
  EXPECT_EQ(wait(), 3s);
  sources.set = {{"coalesce.follower_max_wait", "4s"}};
  EXPECT_EQ(wait(), 4s);
  sources.set.emplace_back("coalesce.follower_max_wait", "5s");
  EXPECT_EQ(wait(), 5s);
  EXPECT_EQ(load(sources).settings->defaults.coalesce.hold, 1024U);
}

TEST(Precedence, OtherVariablesOfTheirPrefixAreIgnored) {
  Sources sources = more("");
  sources.environment = {{"WEIR_PORT", "tcp://10.0.0.1:80"}, {"WEIR_SERVICE_HOST", "x"}, {"HOME", "/root"}};
  EXPECT_TRUE(load(sources).settings);
}

TEST(Precedence, VariablesAndFlagsReachListsAndNames) {
  Sources sources = more("sites: [{hosts: [a]}, {hosts: [b]}]\n");
  TemporaryFile const page(".html", "sorry");
  sources.environment = {{"WEIR__ORIGINS__API__URL", "http://b"},
                         {"WEIR__SITES__1__ORIGIN", "api"},
                         {"WEIR__SITES__0__ORIGIN", "app"},
                         {"WEIR__ERRORS__503", page.name()},
                         {"WEIR__TRUSTED_PROXIES", "10.0.0.0/8"}};
  sources.set = {
      {"sites[1].routes[0].path", "/x/*"}, {"sites.1.routes.0.cache", "off"}, {"sites[2]", "{hosts: [c, d], origin: api}"}};
  sources.listen = {"127.0.0.1:81", "unix:/run/weir.sock"};
  auto const loaded = load(sources);
  ASSERT_TRUE(loaded.settings) << all_of(loaded);
  Settings const& settings = *loaded.settings;
  EXPECT_EQ(settings.sites[1].origin, "api");
  EXPECT_EQ(settings.sites[1].routes.at(0).path, "/x/*");
  EXPECT_FALSE(settings.sites[1].routes[0].policy.cache);
  EXPECT_THAT(settings.sites.at(2).hosts, ElementsAre("c", "d"));
  EXPECT_EQ(settings.errors.at(503).body, "sorry");
  EXPECT_EQ(settings.errors.at(503).type, "text/html; charset=utf-8");
  EXPECT_EQ(settings.trusted_proxies.size(), 1U);
  ASSERT_EQ(settings.listen.size(), 2U);
  EXPECT_EQ(settings.listen[1].address, "unix:/run/weir.sock");
}

TEST(Precedence, AVariableOpensAListOfItsOwn) {
  Sources sources;
  sources.environment = {{"WEIR__ORIGINS__APP__URL", "http://a"}, {"WEIR__SITES__0__HOSTS", "[a, b]"}};
  auto const loaded = load(sources);
  ASSERT_TRUE(loaded.settings) << all_of(loaded);
  EXPECT_THAT(loaded.settings->sites.at(0).hosts, ElementsAre("a", "b"));
}

struct Row {
  char const* name;
  char const* path;
  char const* value;
  char const* mistake;
};
class FlagMistake : public testing::TestWithParam<Row> {};
TEST_P(FlagMistake, NamesTheFlag) {
  Sources sources = more("breaker: off\nsites: [{}]\n");
  sources.set = {{GetParam().path, GetParam().value}};
  EXPECT_THAT(mistakes_of(load(sources)), ElementsAre(GetParam().mistake));
}
constexpr Row rows[] = {
    {"unknown", "coalesce.hodl", "1KiB", "--set: coalesce.hodl: unknown key; did you mean `hold`?"},
    {"wrong", "coalesce.hold", "1", "--set: coalesce.hold: `1` is not a size; write it as in 64KiB, 512MiB or 1GiB"},
    {"no_path", "", "1", "--set: `` is not the path of a setting, as in coalesce.follower_max_wait"},
    {"half_path", "coalesce..hold", "1",
     "--set: `coalesce..hold` is not the path of a setting, as in coalesce.follower_max_wait"},
    {"into_a_scalar", "breaker.open", "5s",
     "--set: breaker.open: `open` cannot be set: what holds it is no group or list that has room for it"},
    {"beyond_a_list", "sites[2].origin", "app",
     "--set: sites[2].origin: `2` cannot be set: what holds it is no group or list that has room for it"},
    {"control", "log.file", "a\x01", "--set: log.file: a control character"},
    {"repeated", "log", "{level: info, level: info}", "--set: log.level: repeated key"},
};
INSTANTIATE_TEST_SUITE_P(Table, FlagMistake, testing::ValuesIn(rows), [](auto const& row) { return row.param.name; });

TEST(Precedence, AVariableIsNamedInItsMistake) {
  Sources sources = more("");
  sources.environment = {{"WEIR__COALESCE__HOLD", "64"}, {"WEIR__", "1"}};
  EXPECT_THAT(mistakes_of(load(sources)),
              ElementsAre("WEIR__: `` is not the path of a setting, as in coalesce.follower_max_wait",
                          "WEIR__COALESCE__HOLD: coalesce.hold: `64` is not a size; write it as in 64KiB, 512MiB or 1GiB"));
}

TEST(Precedence, AFlagsAddressIsChecked) {
  Sources sources = more("");
  sources.listen = {"80"};
  sources.origin = "127.0.0.1";
  auto const text = all_of(load(sources));
  EXPECT_THAT(text, HasSubstr("--listen: listen[0]: `80`: not an IP address with a port"));
  EXPECT_THAT(text, HasSubstr("--origin: origins.default.url: `127.0.0.1`: an origin's address starts with"));
}

TEST(Secrets, VariablesAreReplacedInSecretsAndAddresses) {
  Sources sources = file(
      "version: 1\norigins: {app: {url: \"http://${HOST}:${PORT}\"}}\n"
      "store: {address: \"${HOST}:6379\", password: \"${PASSWORD}\"}\nlog: {file: \"/var/${HOST}\"}\n");
  sources.environment = {{"HOST", "app.example"}, {"PORT", "9000"}, {"PASSWORD", "s3cret${x}"}};
  auto const loaded = load(sources);
  ASSERT_TRUE(loaded.settings) << all_of(loaded);
  EXPECT_THAT(loaded.settings->origins.at("app").servers, ElementsAre("http://app.example:9000"));
  EXPECT_EQ(loaded.settings->store.address, "app.example:6379");
  EXPECT_EQ(loaded.settings->store.password, "s3cret${x}");
  EXPECT_EQ(loaded.settings->log.file, "/var/${HOST}");
  EXPECT_THAT(loaded.warnings, Each(HasSubstr("is not built yet")));
}

TEST(Secrets, AreReadFromFilesAndNeverShown) {
  std::string name = testing::TempDir() + "/weir-secret-XXXXXX";
  int const descriptor = mkstemp(name.data());
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(write(descriptor, "hunter2\n", 8), 8);
  close(descriptor);
  auto const loaded =
      load(more("store: {password_file: \"" + name + "\"}\nadmin: {listen: \"0.0.0.0:9640\", token: \"hunter3\"}\n"));
  std::filesystem::remove(name);
  ASSERT_TRUE(loaded.settings) << all_of(loaded);
  EXPECT_EQ(loaded.settings->store.password, "hunter2");
  EXPECT_EQ(loaded.settings->admin.token, "hunter3");
  EXPECT_THAT(loaded.warnings, ElementsAre(HasSubstr("admin.token: a secret stands in the configuration file")));
  for (std::string const& dump : {dump_yaml(*loaded.settings), dump_json(*loaded.settings)}) {
    EXPECT_THAT(dump, testing::Not(HasSubstr("hunter")));
    EXPECT_THAT(dump, HasSubstr("***"));
    EXPECT_THAT(dump, HasSubstr(name));
  }
}

TEST(Warnings, ForwardingEverythingIsWorthOne) {  // FWD-2
  EXPECT_THAT(load(more("forward: {mode: all}")).warnings, ElementsAre(HasSubstr("poison")));
  EXPECT_THAT(load(more("")).warnings, IsEmpty());
}

}  // namespace
}  // namespace weir::config::test
