"""The payments server's seeded wallet: sources, merchants and friends, and payments in every state.

Left out: payments to friends before the session; requests tell of them.
"""

from __future__ import annotations

from dataclasses import replace

from tasks.servers.payments_types import (
    DAYS,
    Friend,
    Merchant,
    Payment,
    PaymentStatus,
    Period,
    Refund,
    Request,
    Source,
    SourceKind,
    Subscription,
    Trade,
    Way,
)
from tasks.servers.state import Seed
from tasks.servers.world import World, words

MERCHANTS = words(
    """Alder Beacon Cinder Drift Echo Flint Grove Hollow Indigo Jasper Kindle Larch Mosaic Nimbus Onyx Prairie Quarry Ripple
    Summit Timber Upland Vista Whisper Yonder Zenith Arbor Bramble Cascade Dune Everly Foxglove Gale Harvest Islet Juno Knoll
    Lumen Mirth Noble Orchard Pebble Quill Ridge Sorrel Terra Umbra Vireo Willowby"""
)
SERVICES = words(
    """Streamly Tunebox Newswire Fitpass Cloudnest Readwell Gamehub Mealkit Safevault Langua Photoloft Petcare Gardenly
    Podium Chessclub Yogaflow Stargaze Craftbox Winecask Teatime Mapmate Docsign Passkeep Weatherly Soundbay Filmhaus Cookline
    Runtrack Sleepwell Mindful Bookden Comicverse Inkstone Hearwell Bikeshare Puzzlebox Radiohall Choirbook Tripdeck Skywatch
    Farmcrate Taleweave Museumly Cinepass Jazzroom Chartwise Letterjoy Rowclub Swimpass Quizmaster"""
)
SOURCES = words(
    """Everyday Backup Travel Business Family Weekend Studio Holiday Rainy Grocery Petty Shared Online Hobby Reserve Daily
    Monthly Garden Project Club Leisure Festive Utility Transit Kitchen Workshop Harbor Junior Emergency Salary"""
)
NOTES = words("dinner taxi tickets gift groceries rent fuel concert lunch coffee books hotel museum picnic boat parking")
TRADES: tuple[Trade, ...] = ("food", "travel", "media", "home", "sport")
KINDS: tuple[SourceKind, ...] = ("balance", "card", "card", "bank", "bank")
SMALLEST = (100, 200, 500)
STATES: tuple[PaymentStatus, ...] = ("authorized", "captured", "captured", "partly_refunded", "refunded", "voided")
PERIODS: tuple[Period, ...] = ("week", "month", "month", "year")


def seeded(world: World) -> Seed:
    """The tables of a wallet that has been in use for two months."""
    sources = {
        key: Source(key, name, kind, opening := world.amount(300, 2500), opening)
        for key, name, kind in zip(world.ids("src", len(KINDS)), world.picks(SOURCES, len(KINDS)), KINDS, strict=True)
    }
    names = [f"{name} {world.choice(('Goods', 'House', 'Supply', 'Works'))}" for name in world.picks(MERCHANTS, 10)]
    numbers = world.ids("mer", len(names) + 6)
    merchants = {
        key: Merchant(key, name, world.choice(TRADES), world.choice(SMALLEST))
        for key, name in zip(numbers, names, strict=False)
    }
    services = {
        key: Merchant(key, name, world.choice(("media", "home", "sport")), 100)
        for key, name in zip(numbers[len(names) :], world.picks(SERVICES, 6), strict=True)
    }
    friends = {
        key: Friend(key, person.name, person.email) for key, person in zip(world.ids("fri", 8), world.people()[:8], strict=True)
    }
    payments, refunds = _payments(world, sources, list(merchants))
    requests: dict[str, Request] = {}
    for number, key in enumerate(world.ids("req", 7)):
        way: Way = "incoming" if number < 4 else "outgoing"
        friend = world.choice(list(friends))
        requests[key] = Request(key, friend, way, world.amount(5, 60), world.choice(NOTES), "open")
    subscriptions: dict[str, Subscription] = {}
    for key, service in zip(world.ids("sub", 5), list(services.values())[:5], strict=True):
        source = world.choice(list(sources))
        price, every = world.amount(3, 30), world.choice(PERIODS)
        due = world.day(-3, min(20, DAYS[every]))
        subscriptions[key] = Subscription(key, service.name, service.merchant_id, source, price, every, due, "active")
    last = next(reversed(subscriptions))
    subscriptions[last] = replace(subscriptions[last], status="paused")
    if world.rng.random() < 0.5:
        card = next(row for row in sources.values() if row.kind == "card")
        sources[card.source_id] = replace(card, blocked=True)
    return {
        "sources": sources,
        "merchants": {**merchants, **services},
        "friends": friends,
        "payments": payments,
        "refunds": refunds,
        "requests": requests,
        "subscriptions": subscriptions,
    }


def _payments(world: World, sources: dict[str, Source], payees: list[str]) -> tuple[dict[str, Payment], dict[str, Refund]]:
    """Fourteen payments to merchants, charged to the sources, and the refunds of some."""
    payments: dict[str, Payment] = {}
    refunds: dict[str, Refund] = {}
    numbers = iter(world.ids("rfd", 14))
    for count, key in enumerate(world.ids("pmt", 14)):
        source = sources[world.choice(list(sources))]
        amount = world.amount(6, 40)
        status = STATES[count] if count < len(STATES) else world.choice(STATES)
        captured = 0 if status in ("authorized", "voided") else amount
        refunded = {"refunded": captured, "partly_refunded": captured // 2}.get(status, 0)
        day = world.day(-6, 0) if status == "authorized" else world.day(-60, -1)
        payments[key] = Payment(key, source.source_id, world.choice(payees), amount, captured, refunded, status, day)
        if refunded:
            number = next(numbers)
            refunds[number] = Refund(number, key, refunded, world.day(0, 0))
        held = source.held + (amount if status == "authorized" else 0)
        sources[source.source_id] = replace(source, cents=source.cents - captured + refunded, held=held)
    return payments, refunds
