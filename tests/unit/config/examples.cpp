// LCY-1: the files that operators start from are read without a mistake or a warning, and say what they promise.
#include <sstream>

#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include "loading.hpp"
#include "weir/config/reference.hpp"

namespace weir::config::test {
namespace {

using testing::IsEmpty;

std::filesystem::path docker_folder() { return config_folder().parent_path() / "docker"; }

TEST(Examples, AreReadWithoutAMistakeOrAWarning) {
  std::size_t count = 0;
  for (auto const& entry : std::filesystem::directory_iterator(config_folder())) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    auto const loaded = load(file(content(entry.path())));
    EXPECT_TRUE(loaded.settings) << entry.path() << "\n" << all_of(loaded);
    EXPECT_THAT(loaded.warnings, IsEmpty()) << entry.path();
  }
  EXPECT_GE(count, 4U);
}

// What it leaves out and what it says beside the store and the cluster are the defaults.
TEST(Examples, ValkeyIsTheShortFileWithASharedStore) {
  auto const valkey = load(file(content(config_folder() / "valkey.yaml")));
  auto const plain = load(more("store: {type: valkey, address: \"127.0.0.1:6379\"}\ncoalesce: {cluster: true}\n"));
  ASSERT_TRUE(valkey.settings) << all_of(valkey);
  ASSERT_TRUE(plain.settings) << all_of(plain);
  EXPECT_EQ(dump_yaml(*valkey.settings), dump_yaml(*plain.settings));
}

TEST(Examples, ValkeyExplainsEachLineAndWhatIsCommentedOut) {
  std::istringstream lines(content(config_folder() / "valkey.yaml"));
  std::string opened;
  std::size_t settings = 0;
  for (std::string line; std::getline(lines, line);) {
    std::size_t const explanation = line.find(" # ");
    if (line.starts_with("# ") && explanation != std::string::npos) line[0] = ' ';
    opened += line + "\n";
    if (line.empty() || line.starts_with('#')) continue;
    ++settings;
    EXPECT_NE(explanation, std::string::npos) << line;
    EXPECT_EQ(explanation, 36U) << line;
  }
  EXPECT_GT(settings, 15U);
  Sources sources = file(opened);
  sources.environment = {{"VALKEY_PASSWORD", "secret"}};
  auto const loaded = load(sources);
  ASSERT_TRUE(loaded.settings) << all_of(loaded);
  EXPECT_EQ(loaded.settings->store.username, "weir");
  EXPECT_EQ(loaded.settings->store.password, "secret");
}

// The nodes of compose.yaml run on valkey.yaml and variables of the environment.
TEST(Examples, ComposeGivesItsNodesSettingsThatAreRead) {
  YAML::Node const compose = YAML::Load(content(docker_folder() / "compose.yaml"));
  YAML::Node const node = compose["x-node"];
  EXPECT_EQ(node["volumes"][0].as<std::string>(), "../config/valkey.yaml:/etc/weir/weir.yaml:ro");
  Sources sources = file(content(config_folder() / "valkey.yaml"));
  for (auto const& variable : node["environment"])
    sources.environment.emplace_back(variable.first.as<std::string>(), variable.second.as<std::string>());
  auto const loaded = load(sources);
  ASSERT_TRUE(loaded.settings) << all_of(loaded);
  EXPECT_THAT(loaded.warnings, IsEmpty());
  EXPECT_EQ(loaded.settings->store.address, "valkey:6379");
  EXPECT_EQ(loaded.settings->origins.at("app").servers.size(), 1U);
  for (char const* service : {"weir-1", "weir-2", "valkey", "origin"}) EXPECT_TRUE(compose["services"][service]) << service;
}

}  // namespace
}  // namespace weir::config::test
