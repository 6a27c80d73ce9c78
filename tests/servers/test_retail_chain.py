"""The retail chain server: goods are moved and sold, never made; prices stay above cost; closed branches get nothing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tasks.servers.retail_chain import RetailChain
from tasks.servers.session import Session
from tasks.servers.world import World
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import machine, world


def goods(chain: Any) -> Counter[str]:
    """Pieces of each article in branches, on their way and sold, less those that suppliers brought: constant."""
    count: Counter[str] = Counter()
    for row in chain.stock.values():
        count[row.article_id] += row.pieces
    for transfer in chain.transfers.values():
        count[transfer.article_id] += transfer.pieces * (transfer.status == "sent")
    for purchase in chain.purchases.values():
        for line in purchase.lines:
            count[line.article_id] -= line.pieces * (purchase.status == "received")
    count["sold"] = 0
    return count


def check(session: Session) -> None:
    """Pieces are conserved, none is negative, nobody sells below cost, closed branches expect nothing that was sent later."""
    chain: Any = state_of(session, RetailChain)
    if chain is None:
        return
    fresh = RetailChain(RetailChain.seed(World(session.seed, "retail_chain")), session.now)
    sold = sum(till.pieces for till in chain.tills.values())
    assert sum(goods(chain).values()) + sold == sum(goods(fresh).values())
    assert all(row.pieces >= 0 for row in chain.stock.values())
    for article in chain.articles.values():
        assert chain._price(article) >= article.cost
        running = [p for p in chain.promotions.values() if p.article_id == article.article_id and chain._runs(p)]
        assert len(running) <= 1
    for till in chain.tills.values():
        assert (till.pieces == 0) == (till.sales == 0)


TestRetailChain = machine(RetailChain, check)


def test_the_definition() -> None:
    check_server(RetailChain, tools=11)
    check_seeding(RetailChain)


@pytest.fixture
def session() -> Any:
    with world(RetailChain).session(7) as opened:
        ok(opened, "list_branches")
        yield opened


def best(session: Session) -> Any:
    rows = [ok(session, "find_best_stocked", article_id=a["article_id"]) for a in ok(session, "list_articles", limit=12)]
    return max(rows, key=lambda r: r["pieces"])


def other(session: Session, branch: str) -> str:
    return next(b["branch_id"] for b in ok(session, "list_branches", limit=6) if b["open"] and b["branch_id"] != branch)


def pieces(session: Session, branch: str, article: str) -> int:
    return ok(session, "get_branch_stock", branch_id=branch, article_id=article)["pieces"]  # type: ignore[no-any-return]


def test_goods_on_their_way_are_in_neither_branch(session: Session) -> None:
    row = best(session)
    source, article, had = row["branch_id"], row["article_id"], row["pieces"]
    target = other(session, source)
    before = pieces(session, target, article)
    sent = ok(session, "send_stock", source_id=source, target_id=target, article_id=article, pieces=3)["transfer_id"]
    assert (pieces(session, source, article), pieces(session, target, article)) == (had - 3, before)
    refused(session, "wrong_state", "close_branch", branch_id=target)
    ok(session, "receive_stock", transfer_id=sent)
    assert pieces(session, target, article) == before + 3
    refused(session, "wrong_state", "return_stock", transfer_id=sent)
    refused(session, "insufficient", "send_stock", source_id=source, target_id=target, article_id=article, pieces=had)
    refused(session, "invalid_value", "send_stock", source_id=source, target_id=source, article_id=article, pieces=1)


def test_a_sale_takes_the_promotion_into_account(session: Session) -> None:
    row = best(session)
    article = row["article_id"]
    for running in ok(session, "list_promotions"):
        ok(session, "end_promotion", promotion_id=running["promotion_id"])
    price = ok(session, "get_shelf_price", article_id=article)["price"]
    until = f"{session.now.year + 1}-01-15"
    made = ok(session, "start_promotion", article_id=article, percent=20, until=until)
    assert made["price"] == pytest.approx(price * 0.8, abs=0.01)
    refused(session, "conflict", "start_promotion", article_id=article, percent=10, until=until)
    sold = ok(session, "sell_article", branch_id=row["branch_id"], article_id=article, pieces=2)
    assert sold == {"article_id": article, "paid": pytest.approx(2 * made["price"]), "left": row["pieces"] - 2}
    assert ok(session, "get_branch_sales", branch_id=row["branch_id"])["sales"] == sold["paid"]
    ok(session, "end_promotion", promotion_id=made["promotion_id"])
    assert ok(session, "get_shelf_price", article_id=article)["price"] == price


def test_prices_stay_above_cost(session: Session) -> None:
    article = ok(session, "list_articles")[0]["article_id"]
    refused(session, "denied", "set_shelf_price", article_id=article, price=0.01)


def test_a_supplier_delivers_its_own_articles_in_large_orders(session: Session) -> None:
    one = ok(session, "list_articles")[0]
    foreign = next(a for a in ok(session, "list_articles", limit=12) if a["supplier_id"] != one["supplier_id"])
    branch = other(session, "")
    start = {"supplier_id": one["supplier_id"], "branch_id": branch}
    refused(session, "conflict", "order_supplies", **start, orders=[{"article_id": foreign["article_id"], "pieces": 100}])
    refused(session, "insufficient", "order_supplies", **start, orders=[{"article_id": one["article_id"], "pieces": 1}])
    had = pieces(session, branch, one["article_id"])
    made = ok(session, "order_supplies", **start, orders=[{"article_id": one["article_id"], "pieces": 40}])
    assert pieces(session, branch, one["article_id"]) == had
    ok(session, "receive_supplies", purchase_id=made["purchase_id"])
    assert pieces(session, branch, one["article_id"]) == had + 40
    refused(session, "wrong_state", "cancel_supplies", purchase_id=made["purchase_id"])


def test_a_closed_branch_sells_and_gets_nothing(session: Session) -> None:
    closed = next(b["branch_id"] for b in ok(session, "list_branches", limit=6) if not b["open"])
    article = ok(session, "list_articles")[0]["article_id"]
    refused(session, "wrong_state", "sell_article", branch_id=closed, article_id=article)
    refused(session, "wrong_state", "send_stock", source_id=other(session, ""), target_id=closed, article_id=article, pieces=1)
    ok(session, "reopen_branch", branch_id=closed)
    refused(session, "wrong_state", "reopen_branch", branch_id=closed)
