#include "weir/cache/stored_response.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::cache {
namespace {

std::uint32_t narrow(std::size_t size) noexcept {
  WEIR_ASSERT(size <= std::numeric_limits<std::uint32_t>::max());
  return static_cast<std::uint32_t>(size);
}

// What malloc sets aside for a block of `bytes`: a word in front, rounded up to its grain.
constexpr std::size_t with_malloc_overhead(std::size_t bytes) noexcept {
  constexpr std::size_t grain = 16;
  return (bytes + sizeof(void*) + grain - 1) / grain * grain;
}

char* append(char* out, std::string_view bytes) noexcept { return std::copy(bytes.begin(), bytes.end(), out); }

}  // namespace

StoredResponse::StoredResponse(Parts const& parts, std::size_t body_size, base::Ref<StoredResponse const> owner,
                               MemoryAccount& account) noexcept
    : key_size_(narrow(parts.key.size())),
      facts_(parts.facts),
      account_(&account),
      owner_(std::move(owner)),
      body_size_(body_size),
      checked_at_(parts.facts.purge_number),
      selector_size_(narrow(parts.selector.size())),
      head_size_(narrow(parts.head.size())),
      tag_count_(narrow(parts.tags.size())) {
  auto* const tags = reinterpret_cast<Tag*>(this + 1);
  std::uninitialized_copy(parts.tags.begin(), parts.tags.end(), tags);
  char* out = reinterpret_cast<char*>(tags + parts.tags.size());
  out = append(out, parts.key);
  out = append(out, parts.selector);
  append(out, parts.head);
  account_->add(footprint());
}

std::size_t StoredResponse::footprint() const noexcept {
  return with_malloc_overhead(sizeof(StoredResponse) + tag_count_ * sizeof(Tag) + key_size_ + selector_size_ + head_size_ +
                              body_size_);
}

base::Ref<StoredResponse> StoredResponse::allocate(Parts const& parts, std::size_t body_size,
                                                   base::Ref<StoredResponse const> owner, MemoryAccount& account) {
  auto const in_front =
      sizeof(StoredResponse) + parts.tags.size_bytes() + parts.key.size() + parts.selector.size() + parts.head.size();
  if (body_size > std::numeric_limits<std::size_t>::max() / 2 - in_front) throw std::bad_alloc();
  void* const memory = ::operator new(in_front + body_size);
  return base::Ref<StoredResponse>(new (memory) StoredResponse(parts, body_size, std::move(owner), account));
}

base::Ref<StoredResponse> StoredResponse::make(Parts const& parts, std::size_t body_size, MemoryAccount& account) {
  return allocate(parts, body_size, nullptr, account);
}

base::Ref<StoredResponse> StoredResponse::refreshed(Parts const& parts, base::Ref<StoredResponse const> const& body_owner,
                                                    MemoryAccount& account) {
  WEIR_ASSERT(body_owner != nullptr);
  // Never a chain: a refresh of a refresh points at the one that has the bytes.
  base::Ref<StoredResponse const> owner(body_owner->body_owner());
  return allocate(parts, 0, std::move(owner), account);
}

void StoredResponse::destroy(StoredResponse const* response) noexcept {
  auto* const dead = const_cast<StoredResponse*>(response);
  MemoryAccount& account = *dead->account_;
  auto const bytes = dead->footprint();
  dead->~StoredResponse();
  ::operator delete(dead);
  account.subtract(bytes);
}

namespace {

// Rounded up, so that what is to wait waits long enough.
std::uint32_t in_seconds(base::SteadyTime time) noexcept {
  return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(time.time_since_epoch()).count());
}

}  // namespace

bool StoredResponse::claim_refresh(base::SteadyTime now, base::Duration patience) const noexcept {
  auto from = hook.refresh_from.load(std::memory_order_relaxed);
  if (base::whole_seconds(now.time_since_epoch()) < from) return false;
  return hook.refresh_from.compare_exchange_strong(from, in_seconds(now + patience), std::memory_order_relaxed);
}

void StoredResponse::release_refresh(base::SteadyTime now, base::Duration patience) const noexcept {
  hook.refresh_from.store(in_seconds(now + patience), std::memory_order_relaxed);
}

}  // namespace weir::cache
