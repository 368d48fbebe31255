#include "tidy/rooms.hpp"

#include <gtest/gtest.h>

namespace weir::tidy {
namespace {

Arrows const house = {{"base", {}}, {"http", {"base"}}, {"cache", {"http"}}, {"shield", {"cache"}}, {"wire", {"http"}}};

std::string found(std::string const& path, std::string const& text) {
  Findings const findings = wrong_includes(make_source(path, text), house);
  return findings.empty() ? "" : findings[0].advice.substr(0, findings[0].advice.find(':'));
}

TEST(Rooms, AreReadFromCMake) {
  Arrows const arrows =
      read_arrows("function(weir_room name)\nweir_room(base OpenSSL::Crypto)\nweir_room(wire weir_http weir_asio)\n");
  EXPECT_EQ(arrows, (Arrows{{"base", {}}, {"wire", {"http"}}}));
}

TEST(Rooms, SeeOnlyDownwards) {
  EXPECT_EQ(arrows_that_do_not_go_down(house).size(), 0u);
  EXPECT_EQ(arrows_that_do_not_go_down({{"http", {"cache"}}}).size(), 1u);
  EXPECT_EQ(arrows_that_do_not_go_down({{"store", {"shield"}}}).size(), 1u);  // nothing walks sideways
  EXPECT_EQ(arrows_that_do_not_go_down({{"util", {}}}).size(), 1u);
  EXPECT_EQ(arrows_that_do_not_go_down({{"http", {"util"}}}).size(), 1u);
}

TEST(Rooms, IncludeWhatTheySee) {
  EXPECT_EQ(found("src/cache/a.cpp", "#include \"weir/base/clock.hpp\"\n#include <vector>"), "");
  EXPECT_EQ(found("src/cache/a.cpp", "#include \"weir/cache/b.hpp\""), "");
  EXPECT_EQ(found("src/cache/a.cpp", "\n#include \"weir/shield/flight.hpp\""), "weir/shield/flight.hpp");
  EXPECT_EQ(found("include/weir/http/a.hpp", "#include \"weir/wire/head.hpp\""), "weir/wire/head.hpp");
  EXPECT_EQ(found("tests/unit/http/a.cpp", "#include \"weir/wire/head.hpp\""), "");
  EXPECT_EQ(found("src/main.cpp", "#include \"weir/daemon/daemon.hpp\""), "");
}

TEST(Rooms, KeepAsioAndBeastWhereTheyBelong) {
  EXPECT_EQ(found("src/cache/a.cpp", "#include <boost/asio/buffer.hpp>"), "boost/asio/buffer.hpp");
  EXPECT_EQ(found("include/weir/shield/a.hpp", "#include <boost/asio.hpp>"), "boost/asio.hpp");
  EXPECT_EQ(found("src/shield/a.cpp", "#include <boost/intrusive/list.hpp>"), "");
  EXPECT_EQ(found("src/wire/a.cpp", "#include <boost/asio.hpp>\n#include <boost/beast/http.hpp>"), "");
  EXPECT_EQ(found("src/origin/a.cpp", "#include <boost/beast/core.hpp>"), "boost/beast/core.hpp");
}

}  // namespace
}  // namespace weir::tidy
