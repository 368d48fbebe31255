// STO-1: which errors may be stored, by what they say and by whom they were provoked.
#include "unit/cache/storability_rows.hpp"

namespace weir::cache::test::storing {
namespace {

INSTANTIATE_TEST_SUITE_P(  // STO-1, STO-5: errors leave no marker, which would end coalescing in front of a failing origin
    Errors, StorabilityOf,
    testing::Values(Row{"500 with freshness", get, "500\nCache-Control: max-age=60", stored, "f"},
                    Row{"502", get, "502\nCache-Control: max-age=60", stored, "f"},
                    Row{"503", get, "503\nExpires: $+60", stored, "f"},
                    Row{"504", get, "504\nCache-Control: s-maxage=60", stored, "fsar"},
                    Row{"500 public is not enough", get, "500\nCache-Control: public", N::no_freshness},
                    Row{"500 with a tag", get, "500\nETag: \"a\"", N::no_freshness, "", default_ttl},
                    Row{"503 that is stale at once", get, "503\nCache-Control: max-age=0", N::no_freshness},
                    Row{"502 no-cache", get, "502\nCache-Control: no-cache", N::no_freshness},
                    Row{"504 no-store", get, "504\nCache-Control: no-store", N::no_store},
                    Row{"505 is none of these", get, "505", N::no_freshness, "m"}),
    row_name);

INSTANTIATE_TEST_SUITE_P(  // STO-1
    RequestErrors, StorabilityOf,
    testing::Values(Row{"404 to an odd request", "GET /\nExpect: x", "404\nCache-Control: max-age=60", N::status},
                    Row{"503 to an odd request", "GET /\nExpect: x", "503\nCache-Control: max-age=5", N::status},
                    Row{"200 to an odd request", "GET /\nExpect: x", "200\nCache-Control: max-age=60", stored, "f"},
                    Row{"400 to an odd request where the operator wants it", "GET /\nExpect: x",
                        "400\nCache-Control: max-age=60", stored, "f", all_errors},
                    Row{"428", get, "428\nCache-Control: max-age=60", N::status, "", all_errors},
                    Row{"429", get, "429\nCache-Control: max-age=60", N::status, "", all_errors},
                    Row{"431", get, "431\nCache-Control: max-age=60", N::status, "", all_errors},
                    Row{"511", get, "511\nCache-Control: max-age=60", N::status, "", all_errors},
                    Row{"432 is another", get, "432\nCache-Control: max-age=60", stored, "f", all_errors}),
    row_name);

}  // namespace
}  // namespace weir::cache::test::storing
