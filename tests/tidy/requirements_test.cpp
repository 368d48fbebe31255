#include "tidy/requirements.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::tidy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Requirements read(std::string text) { return read_requirements(make_source("tests/README.md", std::move(text))); }

std::string complaints(std::string readme, std::string test) {
  return to_text(unproved(read(std::move(readme)), {make_source("tests/unit/a.cpp", std::move(test))}));
}

TEST(Requirements, AreReadFromTheReadme) {
  Requirements const r = read(
      "# x\n- **KEY-1** One.\n- **COA-11** Two.\n- other\n## Built in part\n- KEY-1: half\n## Not built yet\n- COA-11: "
      "all\n");
  EXPECT_THAT(r.all, ElementsAre("COA-11", "KEY-1"));
  EXPECT_THAT(r.not_built, ElementsAre("COA-11"));
  EXPECT_THAT(r.in_part, ElementsAre("KEY-1"));
  EXPECT_EQ(to_text(r.mistakes), "");
}

TEST(Requirements, MustHaveOneSentenceEach) {
  EXPECT_THAT(to_text(read("- **KEY-1** One.\n- **KEY-1** Again.\n").mistakes), HasSubstr("twice"));
  EXPECT_THAT(to_text(read("## Not built yet\n- KEY-1: all\n").mistakes), HasSubstr("no sentence"));
  EXPECT_THAT(to_text(read("- **KEY-1** One.\n## Not built yet\n- KEY-1\n").mistakes), HasSubstr("say what is missing"));
}

TEST(Requirements, AreNamedByTests) {
  EXPECT_THAT(ids_in("// KEY-1, KEY-10; MONKEY-2 KEY-x UTF-8 X-KEY-3 (KEY-4)", {"KEY"}),
              ElementsAre("KEY-1", "KEY-10", "KEY-4"));
  EXPECT_EQ(complaints("- **KEY-1** One.\n", "// KEY-1\n"), "");
  EXPECT_THAT(complaints("- **KEY-1** One.\n", "// KEY-10\n"), HasSubstr("KEY-1 is named by no test"));
  EXPECT_THAT(complaints("- **KEY-1** One.\n", "// KEY-1 KEY-2\n"),
              HasSubstr("KEY-2 is named by a test, but is no requirement"));
}

TEST(Requirements, AreUnbuiltOrNamedAndNotBoth) {
  std::string const unbuilt = "- **KEY-1** One.\n## Not built yet\n- KEY-1: all\n";
  EXPECT_EQ(complaints(unbuilt, ""), "");
  EXPECT_THAT(complaints(unbuilt, "// KEY-1\n"), HasSubstr("but a test names it"));
  EXPECT_THAT(complaints("- **KEY-1** One.\n## Built in part\n- KEY-1: half\n", ""), HasSubstr("but no test names it"));
}

TEST(Requirements, CountOnlyWhereWeirIsTested) {
  EXPECT_TRUE(names_requirements(make_source("tests/scenario/a.cpp", "")));
  EXPECT_FALSE(names_requirements(make_source("tests/support/a.cpp", "")));
  EXPECT_FALSE(names_requirements(make_source("tests/README.md", "")));
  EXPECT_FALSE(names_requirements(make_source("src/proxy/a.cpp", "")));
}

}  // namespace
}  // namespace weir::tidy
