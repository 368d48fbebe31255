// Nodes that share a store, for scenarios: settings, and what their tests ask again and again.
#pragma once

#include <deque>
#include <string>

#include "scenario/weir.hpp"
#include "support/relay.hpp"
#include "support/valkey.hpp"

namespace weir::test {

// `store` and `rest` as YAML; a generous time limit, where counts must be exact on a busy machine.
inline std::string shared_store(std::string const& address, std::string const& store = "", std::string const& rest = "",
                                std::string const& timeout = "5s") {
  return "store: {type: valkey, address: \"" + address + '"' + (store.empty() ? "" : ", " + store) + "}\n" +
         "freshness: {jitter: off, early_refresh: off}\n" +
         (rest.find("timeouts:") == std::string::npos ? "timeouts: {store: " + timeout + "}\n" : "") + rest;
}

// A server and nodes before one origin.
struct Nodes {
  explicit Nodes(std::size_t count, std::string const& store = "", std::string const& rest = "") {
    for (std::size_t i = 0; i < count; ++i) all.emplace_back(origin, shared_store(server.address(), store, rest));
    EXPECT_TRUE(eventually([&] { return listeners() == count; }));  // what is announced from here on is heard
  }
  std::size_t listeners() const {
    return std::stoul(server.cli({"EVAL", "return redis.call('PUBSUB', 'NUMSUB', 'weir:news')[2]", "0"}));
  }
  Weir& operator[](std::size_t number) { return all.at(number); }
  // What one of them has stored is in the server, too.
  bool settle() {
    for (auto& node : all)
      if (!node.waits_until_no_flights()) return false;
    return true;
  }
  void turn(base::Duration by) {
    all.front().turn(by);
    for (auto& node : all) node.turn(base::Duration::zero());
  }

  // Leases that are held now last for a minute whatever their owners do: on a machine that is busy with something else for a
  // second an owner could lose its own, and rightly.
  void keep_leases() const {
    server.cli(
        {"EVAL", "for _, lease in ipairs(redis.call('KEYS', '*!*')) do redis.call('PEXPIRE', lease, 60000) end", "0"});
  }

  ScriptedOrigin origin;
  ValkeyServer server;
  std::deque<Weir> all;
};

inline bool is_hit(Response const& response) { return response.status == 200 && cache_status(response).hit(); }

inline double store_errors(Weir& node, std::string const& operation) {
  return node.metric("weir_store_errors_total{op=\"" + operation + "\"}");
}

inline Response purge(Weir& node, std::string const& order) {
  return Client(node.admin_port()).request("POST", "/v1/purge", {{"Content-Type", "application/json"}}, order);
}

}  // namespace weir::test
