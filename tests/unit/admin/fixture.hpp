// An admin server on ephemeral ports of the loopback, with sources that the test can set.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <boost/asio/basic_waitable_timer.hpp>

#include "raw_client.hpp"
#include "weir/admin/server.hpp"
#include "weir/admin/sources.hpp"
#include "weir/base/turned_clock.hpp"

namespace weir::admin {

class AdminTest : public testing::Test {
 protected:
  AdminTest() {
    sources_.metrics = [] { return std::string("# a page\n"); };
    sources_.config = [] { return std::string(R"({"version":1})"); };
    sources_.flights = [this](std::size_t at_most) {
      asked_flights_ = at_most;
      return flights_;
    };
    sources_.stats = [this] { return stats_; };
    sources_.readiness = [this] { return readiness_; };
    sources_.drain = [this] { ++drains_; };
    settings_.listen = "127.0.0.1:0";
  }

  void open() {
    if (router_more_.path.empty())
      open(admin_endpoints(sources_));
    else {
      Router router = admin_endpoints(sources_);
      router.add(router_more_);
      open(std::move(router));
    }
  }
  void open(Router router) {
    auto server = Server::open(settings_, std::move(router), open_endpoints(sources_));
    ASSERT_TRUE(server) << server.error().text;
    server_ = std::move(*server);
  }
  StartError failure() {
    auto const server = Server::open(settings_, admin_endpoints(sources_), open_endpoints(sources_));
    return server ? StartError{StartFault::bad_address, "it started"} : server.error();
  }
  RawClient client() { return RawClient::tcp(server_->port()); }
  RawResponse get(std::string const& target, std::string const& fields = {}) { return ask("GET", target, fields); }
  RawResponse ask(std::string const& method, std::string const& target, std::string const& fields = {}) {
    RawClient connection = client();
    return connection.ask(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n")
        .value_or(RawResponse{});
  }
  // Turns the clock and makes the admin thread look at it: a timer that is due before all others.
  void turn(base::Duration by) {
    base::turn_clock(by);
    auto timer = std::make_unique<Timer>(server_->context(), base::SteadyTime{});
    timer->async_wait([](boost::system::error_code) {});
    timers_.push_back(std::move(timer));
  }
  std::string temporary(std::string const& name) {
    auto const* const test = testing::UnitTest::GetInstance()->current_test_info();
    auto path = std::filesystem::path(testing::TempDir()) / (std::string("weir_") + test->name() + "_" + name);
    std::filesystem::remove(path);
    return path;
  }
  std::string write_file(std::string const& name, std::string const& text) {
    std::string const path = temporary(name);
    std::ofstream(path) << text;
    return path;
  }

  using Timer = boost::asio::basic_waitable_timer<base::Clock>;
  config::Admin settings_;
  Sources sources_;
  Endpoint router_more_;  // one more call, if it has a path
  std::vector<FlightLine> flights_;
  std::size_t asked_flights_ = 0;
  Stats stats_;
  Readiness readiness_{true, ""};
  int drains_ = 0;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Timer>> timers_;
};

}  // namespace weir::admin
