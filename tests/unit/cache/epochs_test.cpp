// What purges say of entries (PRG-1, PRG-2), and that nothing is ever said less than it was.
#include "weir/cache/epochs.hpp"

#include <random>

#include <gtest/gtest.h>

namespace weir::cache {
namespace {

using namespace std::chrono_literals;

base::SteadyTime at(int seconds) { return base::SteadyTime(std::chrono::seconds(1000 + seconds)); }

Place place(std::string_view path, std::string_view query = {}, bool has_query = false) {
  return {"shop", "shop.example", path, query, has_query};
}

std::vector<Tag> one(Tag tag) { return {tag}; }

// PRG-1: what each kind of tag reaches, and what it leaves alone.
TEST(Epochs, reach_what_they_name) {
  struct Row {
    char const* name;
    Tag tag;
    Place where;
    bool hit;
  };
  Row const rows[]{
      {"all", tag_of_all(), place("/a"), true},
      {"site", tag_of_site("shop"), place("/a"), true},
      {"another site", tag_of_site("blog"), place("/a"), false},
      {"url of the authority", tag_of_url(Scope::authority, "shop.example", "/a", "", false), place("/a"), true},
      {"url of the site", tag_of_url(Scope::site, "shop", "/a", "", false), place("/a"), true},
      {"url, another path", tag_of_url(Scope::site, "shop", "/a", "", false), place("/ab"), false},
      {"url, no query", tag_of_url(Scope::site, "shop", "/a", "", false), place("/a", "", true), false},
      {"url, its query", tag_of_url(Scope::site, "shop", "/a", "x=1", true), place("/a", "x=1", true), true},
      {"url, another authority", tag_of_url(Scope::authority, "blog.example", "/a", "", false), place("/a"), false},
      {"prefix", tag_of_prefix(Scope::site, "shop", "/a/"), place("/a/b/c"), true},
      {"prefix itself", tag_of_prefix(Scope::authority, "shop.example", "/a/"), place("/a/"), true},
      {"root prefix", tag_of_prefix(Scope::site, "shop", "/"), place("/a"), true},
      {"prefix, a sibling", tag_of_prefix(Scope::site, "shop", "/a/"), place("/ab/c"), false},
      {"prefix, the file of that name", tag_of_prefix(Scope::site, "shop", "/a/"), place("/a"), false},
      {"a name is no site", tag_of_site("shop.example"), place("/a"), false},
  };
  for (auto const& row : rows) {
    Epochs epochs(100);
    epochs.add(one(row.tag), Invalidation::hard, 5, at(0));
    EXPECT_EQ(epochs.overrule(row.where, {}, 4).mode == Invalidation::hard, row.hit) << row.name;
    EXPECT_EQ(epochs.must_see(row.where), row.hit ? 5U : 0U) << row.name;
    EXPECT_EQ(epochs.overrule(row.where, {}, 5).mode, Invalidation::none) << row.name;
  }
}

// PRG-1: tags belong to their site, groups to their origin.
TEST(Epochs, tags_of_a_response) {
  std::vector<http::Field> const fields{{http::FieldId::surrogate_key, "Surrogate-Key", " red  green\tred "},
                                        {http::FieldId::cache_tag, "Cache-Tag", "blue, two words,,"},
                                        {http::FieldId::cache_groups, "Cache-Groups", "\"g1\", \"g,2\", token"}};
  auto const tags = tags_of(http::Fields(fields), "shop", "http", "shop.example");
  auto const has = [&](Tag tag) { return std::find(tags.begin(), tags.end(), tag) != tags.end(); };
  for (auto const* name : {"red", "green", "blue", "two words", "g1", "g,2"})
    EXPECT_TRUE(has(tag_of_name("shop", name))) << name;
  EXPECT_FALSE(has(tag_of_name("blog", "red")));
  EXPECT_TRUE(has(tag_of_group("http", "shop.example", "g1")));
  EXPECT_FALSE(has(tag_of_group("https", "shop.example", "g1")));
  EXPECT_EQ(tags.size(), 8U);
  std::vector<http::Field> const bad{{http::FieldId::cache_groups, "Cache-Groups", "\"g1"}};
  EXPECT_TRUE(tags_of(http::Fields(bad), "shop", "http", "shop.example").empty());
}

// PRG-1, COA-14
TEST(Epochs, a_tag_overrules_what_began_before_it) {
  Epochs epochs(100);
  auto const red = one(tag_of_name("shop", "red"));
  auto const blue = one(tag_of_name("shop", "blue"));
  epochs.add(red, Invalidation::soft, 7, at(3));
  EXPECT_EQ(epochs.number(), 7U);
  auto const said = epochs.overrule(place("/a"), red, 6);
  EXPECT_EQ(said.mode, Invalidation::soft);
  EXPECT_EQ(said.at, at(3));
  EXPECT_EQ(epochs.overrule(place("/a"), blue, 6).mode, Invalidation::none);
  EXPECT_EQ(epochs.must_see(place("/a")), 0U);  // the key does not tell
  EXPECT_TRUE(epochs.between(red, 6, 7));
  EXPECT_FALSE(epochs.between(red, 7, 9));
  EXPECT_FALSE(epochs.between(red, 5, 6));  // who came before it may have what began before it
  EXPECT_FALSE(epochs.between(blue, 6, 7));
}

// COA-14: a purge that comes later hides none that came before.
TEST(Epochs, what_lies_between_is_known_behind_a_later_purge) {
  Epochs epochs(100);
  auto const red = one(tag_of_name("shop", "red"));
  for (auto const number : {7U, 9U}) epochs.add(red, Invalidation::hard, number, at(3));
  EXPECT_TRUE(epochs.between(red, 6, 7));  // 7 was before it came, 9 after
  EXPECT_TRUE(epochs.between(red, 6, 8));
  EXPECT_TRUE(epochs.between(red, 8, 9));
  EXPECT_FALSE(epochs.between(red, 7, 8));  // only 9 is newer than the fetch, and came after it came
  EXPECT_FALSE(epochs.between(red, 9, 12));
  epochs.add(red, Invalidation::soft, 11, at(4));
  EXPECT_TRUE(epochs.between(red, 6, 7));
  EXPECT_FALSE(epochs.between(red, 9, 10));
}

// PRG-2: a later, weaker word takes nothing back; a soft one counts since the first that applies.
TEST(Epochs, the_same_tag_again_never_says_less) {
  Epochs epochs(100);
  auto const all = one(tag_of_all());
  epochs.add(all, Invalidation::hard, 5, at(0));
  epochs.add(all, Invalidation::soft, 9, at(1));
  epochs.add(all, Invalidation::soft, 12, at(2));
  EXPECT_EQ(epochs.size(), 1U);
  EXPECT_EQ(epochs.overrule(place("/a"), {}, 4).mode, Invalidation::hard);
  EXPECT_EQ(epochs.overrule(place("/a"), {}, 6).mode, Invalidation::soft);
  EXPECT_EQ(epochs.overrule(place("/a"), {}, 6).at, at(1));
  EXPECT_EQ(epochs.overrule(place("/a"), {}, 10).at, at(2));
  EXPECT_EQ(epochs.overrule(place("/a"), {}, 12).mode, Invalidation::none);
  epochs.add(all, Invalidation::invalid, 20, at(3));
  EXPECT_EQ(epochs.overrule(place("/a"), {}, 15).mode, Invalidation::invalid);
}

// PRG-2: 100,000 tags in a table of 100: bounded, and nothing that was purged is let go.
TEST(Epochs, the_oldest_are_folded_into_a_floor) {
  Epochs epochs(100);
  std::mt19937_64 random(1);
  std::vector<std::pair<std::uint64_t, Invalidation>> said;
  for (std::uint64_t number = 1; number <= 100'000; ++number) {
    auto const mode = static_cast<Invalidation>(random() % 3);
    said.emplace_back(number, mode);
    epochs.add(one(tag_of_name("shop", std::to_string(number))), mode, number, at(static_cast<int>(number)));
  }
  EXPECT_EQ(epochs.size(), 100U);
  for (auto const& [number, mode] : said) {
    auto const now = epochs.overrule(place("/x"), one(tag_of_name("shop", std::to_string(number))), number - 1);
    ASSERT_LE(now.mode, mode) << number;
    if (now.mode == Invalidation::soft) ASSERT_LE(now.at, at(static_cast<int>(number)));
  }
  EXPECT_EQ(epochs.overrule(place("/x"), {}, 100'000).mode,
            Invalidation::none);  // what is newer than the floor is untouched
}

// PRG-1: an unchanged number costs one compare; the entry remembers what it was compared with.
TEST(Epochs, an_entry_is_compared_once_for_each_number) {
  MemoryAccount account;
  Epochs epochs(100);
  Facts facts;
  facts.purge_number = 3;
  Tag const tag = tag_of_name("shop", "red");
  auto const entry = StoredResponse::make({"k", "", "HTTP/1.1 200 \r\n", facts, {&tag, 1}}, 0, account);
  EXPECT_EQ(entry->tags().size(), 1U);
  EXPECT_EQ(entry->key(), "k");
  EXPECT_EQ(entry->head(), "HTTP/1.1 200 \r\n");
  EXPECT_EQ(entry->checked_at(), 3U);
  epochs.add(one(tag_of_name("shop", "blue")), Invalidation::hard, 4, at(0));
  EXPECT_EQ(with_epochs({}, epochs, place("/a"), *entry).mode, Invalidation::none);
  EXPECT_EQ(entry->checked_at(), 4U);
  epochs.add(one(tag), Invalidation::soft, 6, at(1));
  EXPECT_EQ(with_epochs({}, epochs, place("/a"), *entry).mode, Invalidation::soft);
  EXPECT_EQ(entry->checked_at(), 4U);
  EXPECT_EQ(with_epochs({Invalidation::hard, {}}, epochs, place("/a"), *entry).mode, Invalidation::hard);
}

// PRG-1, PRG-2: of two that are added against the order of their numbers both hold, also for what was compared between them.
TEST(Epochs, the_order_of_adding_is_of_no_matter) {
  MemoryAccount account;
  Epochs epochs(10);
  auto const red = tag_of_name("shop", "red"), blue = tag_of_name("shop", "blue");
  Facts facts;
  facts.purge_number = 2;
  std::vector<Tag> const tags{red};
  auto const entry = StoredResponse::make({"k", "", "HTTP/1.1 200 \r\n", facts, tags}, 0, account);
  epochs.add(one(blue), Invalidation::hard, 5, at(0));
  EXPECT_EQ(with_epochs({}, epochs, place("/a"), *entry).mode, Invalidation::none);
  epochs.add(one(red), Invalidation::hard, 4, at(0));
  EXPECT_EQ(with_epochs({}, epochs, place("/a"), *entry).mode, Invalidation::hard);
  EXPECT_EQ(epochs.number(), 5U);
  facts.purge_number = 5;
  auto const later = StoredResponse::make({"k", "", "HTTP/1.1 200 \r\n", facts, tags}, 0, account);
  EXPECT_EQ(with_epochs({}, epochs, place("/a"), *later).mode, Invalidation::none);
}

// MEM-2: what one process knows, another knows in the same words and the same order.
TEST(Epochs, rows_say_it_all_again) {
  Epochs before(3);
  int second = 0;
  std::uint64_t number = 0;
  for (auto const mode : {Invalidation::soft, Invalidation::hard, Invalidation::invalid, Invalidation::soft})
    for (auto const* const name : {"a", "b", "c", "d"})
      before.add(one(tag_of_name("shop", name)), mode, ++number, at(++second));
  Epochs after(3);
  for (auto const& row : before.rows()) after.restore(row);
  EXPECT_EQ(after.number(), before.number());
  EXPECT_EQ(after.size(), before.size());
  auto const same = [&] {
    for (auto const* const name : {"a", "b", "c", "d", "e"})
      for (std::uint64_t began = 0; began < 20; ++began) {
        auto const expected = before.overrule(place("/"), one(tag_of_name("shop", name)), began);
        auto const said = after.overrule(place("/"), one(tag_of_name("shop", name)), began);
        ASSERT_EQ(said.mode, expected.mode) << name << began;
        if (said.mode == Invalidation::soft) ASSERT_EQ(said.at, expected.at) << name << began;
      }
  };
  same();
  for (auto* const epochs : {&before, &after}) epochs->add(one(tag_of_name("shop", "e")), Invalidation::soft, 17, at(100));
  same();  // the same one was folded
}

}  // namespace
}  // namespace weir::cache
