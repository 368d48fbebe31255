// A look-up (VAL-2): one question for the purge state, the key's record and what is probably meant; a second one where that
// was another variant, or is newer than what is near. What is learnt goes to the near tier, which then answers.
#include <algorithm>

#include "valkey_impl.hpp"
#include "weir/base/hash.hpp"
#include "weir/cache/key.hpp"
#include "weir/cache/vary.hpp"

namespace weir::store {
namespace {

constexpr std::string_view identity_end = "39";
static_assert(identity_size == 40);
// Vary specs that the server told of are announced near for as long as a near entry is used unchecked.
constexpr base::Duration spec_life = std::chrono::minutes(2);
constexpr std::uint32_t any_variants = 4096;  // the script that puts them has bounded them

// What the server says of the near entry.
enum class Said : std::uint8_t {
  unreadable,  // nobody knows
  another,     // it has another one, which could not be had or read
  nothing,     // it has none, and does not speak against it
  same,        // it has it, or nothing newer
};

}  // namespace

struct ValkeyStore::Impl::Asked {
  Question question;
  base::Now now;
  std::shared_ptr<ValkeyLink> link;
  std::string name;     // of the key record
  Lookup near;          // what stands in the near tier
  std::string variant;  // asked for
  bool exists = true;   // the variant, as far as the key record tells
  KeyState state;
  std::uint64_t number = 0, url_number = 0;
  Reply record;           // of `variant`, or its first bytes
  bool is_whole = false;  // `record` is not only the first bytes
  cache::Entry entry;     // decoded
  Said said = Said::nothing;
};

asio::awaitable<Lookup> ValkeyStore::Impl::find(Question question, base::Now now) {
  Asked asked;
  asked.question = question;
  asked.now = now;
  asked.near = near.peek(question, now);
  if (workers.empty() || has_untold()) co_return hide_unchecked(std::move(asked.near), question.hash, true, now);
  asked.link = links(question.worker).reads;
  asked.name = key_name(question.key);
  if (!co_await ask_for_key(asked)) co_return hide_unchecked(std::move(asked.near), question.hash, true, now);
  note_state(asked);
  choose_variant(asked);
  if (asked.exists) co_await ask_for_record(asked);
  co_return conclude(asked);
}

// False: the server cannot be asked, or not be believed.
asio::awaitable<bool> ValkeyStore::Impl::ask_for_key(Asked& asked) {
  if (clock.moment().there == 0) co_return false;  // without the server's time nothing tells how old a record is
  asked.variant = asked.near.entry ? variant_of(asked.near.entry->selector()) : "-";
  auto const record = record_name(asked.name, asked.variant);
  auto const number = name("number"), epoch_name = name("epoch");
  std::vector<std::string_view> words{"MGET", number, epoch_name, asked.name};
  auto const url = cache::url_part(asked.question.key);
  auto const url_name = url.size() != asked.question.key.size() ? key_name(url) : std::string();
  if (!url_name.empty()) words.push_back(url_name);
  Commands commands;
  commands.add(words);
  asked.is_whole = !asked.near.entry;
  if (asked.is_whole)
    commands.add({"GET", record});
  else
    commands.add({"GETRANGE", record, "0", identity_end});
  auto const replies = co_await ask(asked.link, std::move(commands), limit_for(rules.max_object), StoreOperation::get);
  if (replies.size() != 2) co_return false;
  auto const& head = replies[0];
  if (head.size() != words.size() - 1 || (!replies[1].is_null() && !replies[1].text())) {
    count(StoreOperation::decode);
    co_return false;
  }
  asked.record = replies[1];
  asked.number = head[0].counter();
  auto const epoch = head[1].counter();
  if (auto const text = head[2].text()) {
    auto state = read_key_state(*text);
    if (!state) {  // nobody knows what was said of it: what is stored is not used
      count(StoreOperation::decode);
      asked.near = {};
      asked.said = Said::unreadable;
      asked.exists = false;
    } else {
      asked.state = std::move(*state);
    }
  }
  if (auto const text = url_name.empty() ? std::nullopt : head[3].text()) {
    auto const state = read_key_state(*text);
    if (!state) count(StoreOperation::decode);
    asked.url_number = state ? state->number : asked.number;  // what cannot be read may have said anything
  }
  if (epoch > applied.load(std::memory_order_acquire) && !co_await catch_up(asked.link)) co_return false;
  heard_of(asked.number);
  co_return true;
}

void ValkeyStore::Impl::note_state(Asked const& asked) {
  auto const& question = asked.question;
  auto const& state = asked.state;
  auto const steady = asked.now.steady;
  auto const now_there = server_ms(steady);
  if (auto const spec = state.spec(now_there); !spec.empty())
    near.announce_vary(question.key, question.hash, spec, steady + spec_life);
  if (state.number != 0)
    near.invalidate(question.key, question.hash, state.mode, state.number, steady + remember_invalidations.load(),
                    asked.now);
  if (state.marked_until > now_there)  // both in ms
    near.mark_hit_for_miss(question.key, question.hash, to_here(clock.moment(), state.marked_until * 1000), asked.now);
}

// Of the variants that the request selects, the one stored last.
void ValkeyStore::Impl::choose_variant(Asked& asked) {
  auto const& state = asked.state;
  if (state.variants.empty() || !asked.exists) return;
  auto const now_there = server_ms(asked.now.steady);
  KeyState::Variant const* best = nullptr;
  for (auto const& variant : state.variants) {
    if (variant.until <= now_there || (best != nullptr && best->stored > variant.stored)) continue;
    cache::SelectorBytes selector;
    if (!variant.names.empty() && asked.question.rules != nullptr)
      cache::append_selector(asked.question.request, variant.names, *asked.question.rules, selector);
    if (variant_of(cache::view(selector)) == variant.name) best = &variant;
  }
  asked.exists = best != nullptr;
  if (best == nullptr || best->name == asked.variant) return;
  asked.variant = best->name;
  asked.record = Reply();
  asked.is_whole = false;
}

// The first bytes tell whether what is near is the same.
asio::awaitable<void> ValkeyStore::Impl::ask_for_record(Asked& asked) {
  auto const moment = clock.moment();
  auto const& near_entry = asked.near.entry;
  bool const same_variant = near_entry && variant_of(near_entry->selector()) == asked.variant;
  if (!asked.is_whole && same_variant) {
    auto const identity = read_identity(asked.record.text().value_or(""));
    if (identity && *identity <= identity_of(*near_entry, moment)) asked.said = Said::same;  // STO-6
    if (asked.said == Said::same || asked.record.text().value_or("").empty()) co_return;
  }
  asked.said = Said::another;
  if (!asked.is_whole) {
    Commands commands;
    commands.add({"GET", record_name(asked.name, asked.variant)});
    auto const replies = co_await ask(asked.link, std::move(commands), limit_for(rules.max_object), StoreOperation::get);
    if (replies.size() != 1) co_return;
    asked.record = replies[0];
  }
  auto const bytes = asked.record.text();
  if (!bytes) {  // gone meanwhile
    asked.said = Said::nothing;
    co_return;
  }
  auto decoded = decode(*bytes, asked.question.key, asked.question.began, moment, account);
  if (!decoded) {
    count(StoreOperation::decode);
    co_return;
  }
  asked.entry = decoded->entry;
  heard_of(asked.entry->facts().purge_number);
  asked.said = Said::same;
  if (rules.near_bytes != 0) near.put(asked.entry, decoded->keep_until, any_variants, asked.now);
}

Lookup ValkeyStore::Impl::conclude(Asked& asked) {
  auto const& question = asked.question;
  auto const now = asked.now;
  auto found = near.peek(question, now);
  if (asked.said == Said::unreadable) {
    found.entry = nullptr;
  } else if (asked.entry && !found.entry) {  // there is no near tier, or no room in it
    found.entry = asked.entry;
    if (asked.state.number > asked.entry->facts().purge_number) found.overrule = {asked.state.mode, now.steady};
    if (found.overrule.mode == cache::Invalidation::hard) found.entry = nullptr;
  } else if (found.entry) {
    // What the server has nothing of is good for as long as it would have remembered what speaks against it.
    bool const known = asked.said == Said::same || (asked.said == Said::nothing &&
                                                    was_checked(*found.entry, question.hash, longest_unasked(), now.steady));
    if (known)
      checks.note(check_id(*found.entry, question.hash), now.steady);
    else
      found.overrule = cache::stronger(found.overrule, {cache::Invalidation::invalid, now.steady});
  }
  found.number = asked.number;
  found.url_number = asked.url_number;
  return found;
}

}  // namespace weir::store
