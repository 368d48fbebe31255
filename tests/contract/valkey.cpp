#include "weir/store/valkey_store.hpp"

#include <atomic>
#include <thread>

#include "store_contract.hpp"
#include "support/valkey.hpp"

namespace weir::store {
namespace {

// A near tier and a real server behind it, of which each store has its own part; its questions run on a thread of its own.
// What is in the near tier counts as checked for as long as a test turns the clock, so `peek` sees what was put.
struct Served {
  cache::PurgeNumber purges;
  cache::Epochs epochs{100};
  boost::asio::io_context io{1};
};

test::ValkeyServer& server() {
  static test::ValkeyServer one;
  return one;
}

ValkeyRules rules() {
  static std::atomic<int> number{0};
  ValkeyRules rules;
  rules.host = "127.0.0.1";
  rules.port = std::to_string(server().port());
  rules.prefix = "contract" + std::to_string(number.fetch_add(1)) + ':';
  rules.timeout = std::chrono::seconds(5);
  rules.near_ttl = rules.offline_ttl = std::chrono::hours(24 * 365);
  return rules;
}

class ServedStore final : private Served, public ValkeyStore {
 public:
  explicit ServedStore(cache::MemoryAccount& account) : ValkeyStore(rules(), account, purges, epochs) {
    EXPECT_EQ(check_server(std::chrono::seconds(5)), "");
    attach(io);
    thread_ = std::thread([this] { io.run(); });
  }
  ~ServedStore() override {
    io.stop();
    thread_.join();
    detach();
  }
  boost::asio::io_context& context() noexcept { return io; }

 private:
  std::thread thread_;
};

StoreFactory const near_and_valkey{
    "NearAndValkey",
    [](cache::MemoryAccount& account) -> std::unique_ptr<Store> { return std::make_unique<ServedStore>(account); },
    [](Store& store) -> boost::asio::io_context& { return dynamic_cast<ServedStore&>(store).context(); }};

INSTANTIATE_TEST_SUITE_P(Shared, StoreContract, testing::Values(near_and_valkey), name_of);

}  // namespace
}  // namespace weir::store
