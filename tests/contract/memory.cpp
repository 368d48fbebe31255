#include "store_contract.hpp"

#include "weir/store/memory_store.hpp"

namespace weir::store {
namespace {

StoreFactory const memory{"Memory", [](cache::MemoryAccount& account) -> std::unique_ptr<Store> {
                            return std::make_unique<MemoryStore>(MemoryRules{64ULL << 20}, account);
                          }};

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, testing::Values(memory), name_of);

}  // namespace
}  // namespace weir::store
