#include "weir/store/store.hpp"

namespace weir::store {

// A store of one node has nobody to tell.
boost::asio::awaitable<void> Store::share(cache::Entry, base::SteadyTime, std::uint32_t, std::uint16_t) { co_return; }

boost::asio::awaitable<std::uint64_t> Store::share_invalidation(std::vector<std::string>, cache::Invalidation,
                                                                std::uint64_t number, std::uint16_t) {
  co_return number;
}

boost::asio::awaitable<Turn> Store::take_turn(TurnRequest) { co_return Turn{}; }

void Store::share_purge(std::vector<cache::Tag>, cache::Invalidation, std::uint64_t) noexcept {}

}  // namespace weir::store
