"""The social media server: who sees what, follows and requests, blocks that sever, counts that are those of rows."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tasks.servers.session import Session
from tasks.servers.social_media import SocialMedia
from tests.servers.driver import check_seeding, check_server, ok, refused, state_of
from tests.servers.machine import machine, world


def check(session: Session) -> None:
    """Nobody follows themselves or across the user's blocks; likes, votes and comments are of people who exist, once."""
    net: Any = state_of(session, SocialMedia)
    if net is None:
        return
    me = net._me
    for key, link in net.links.items():
        assert key == f"{link.kind}/{link.source}/{link.target}" and link.source != link.target
        assert link.kind == "follow" or not link.pending
        assert {link.source, link.target} <= set(net.profiles)
    for link in net.links.values():
        if link.kind == "block" and me in (link.source, link.target):
            other = link.target if link.source == me else link.source
            assert f"follow/{me}/{other}" not in net.links and f"follow/{other}/{me}" not in net.links
    for post in net.posts.values():
        assert len(set(post.likes)) == len(post.likes) and set(post.likes) <= set(net.profiles)
        assert len({voter for voter, _ in post.votes}) == len(post.votes)
        assert all(1 <= choice <= len(post.options) for _, choice in post.votes)
        assert not post.shared or not net.posts[post.shared].shared, "a share leads to what was written, at once"
        assert set(post.saved) <= {me} and post.author in net.profiles
        assert len({option.casefold() for option in post.options}) == len(post.options) != 1
    assert all(c.post_id in net.posts and c.author in net.profiles for c in net.comments.values())
    assert all(m.profile_id in net.profiles and m.profile_id != me for m in net.messages.values())
    due = [d.due for d in net.drafts.values() if d.due]
    assert len(set(due)) == len(due), "two drafts are due in one minute"
    assert all(net.now < dt.datetime.strptime(d, "%Y-%m-%d %H:%M") for d in due)
    with_rows = {
        p: sum(k.target == p and k.kind == "follow" and not k.pending for k in net.links.values()) for p in net.profiles
    }
    for profile, followers in with_rows.items():
        assert net.get_profile(profile)["followers"] == followers
    for profile in net.profiles:
        assert sum(p.pinned for p in net.posts.values() if p.author == profile) <= 1
    if not net.profiles[me].private:
        assert not [k for k in net.links.values() if k.target == me and k.pending], "a public profile lets nobody wait"


TestSocialMedia = machine(SocialMedia, check)


def test_the_definition() -> None:
    check_server(SocialMedia, tools=15)
    check_seeding(SocialMedia)


@pytest.fixture
def session() -> Any:
    with world(SocialMedia).session(7) as opened:  # the user's profile is private at the start of every world
        ok(opened, "list_profiles")
        yield opened


def net_of(session: Session) -> Any:
    return state_of(session, SocialMedia)


def stranger(session: Session, private: bool) -> str:
    """A profile that the user can follow."""
    net = net_of(session)
    rows = [p for p in net.profiles.values() if p.private == private and p.profile_id != net._me]
    free = [p.profile_id for p in rows if net._standing(p.profile_id) != "blocked"]
    if net._standing(free[0]) != "none":
        ok(session, "unfollow_profile", profile_id=free[0])
    return free[0]


def test_a_private_profile_is_asked_and_unseen(session: Session) -> None:
    key, net = stranger(session, private=True), net_of(session)
    hidden = [p.post_id for p in net.posts.values() if p.author == key]
    assert ok(session, "list_posts", profile_id=key) == [] and hidden
    for post in hidden:
        refused(session, "not_found", "like_post", post_id=post)
    assert ok(session, "follow_profile", profile_id=key)["standing"] == "requested"
    refused(session, "conflict", "follow_profile", profile_id=key)
    assert ok(session, "list_posts", profile_id=key) == []


def test_a_public_profile_is_followed_at_once(session: Session) -> None:
    key, net = stranger(session, private=False), net_of(session)
    before = ok(session, "get_profile", profile_id=key)["followers"]
    assert ok(session, "follow_profile", profile_id=key)["standing"] == "following"
    assert ok(session, "get_profile", profile_id=key)["followers"] == before + 1
    assert {p["author_id"] for p in ok(session, "list_feed", limit=50)} >= {key}
    refused(session, "invalid_value", "follow_profile", profile_id=net._me)


def test_a_block_severs_and_hides(session: Session) -> None:
    key = stranger(session, private=False)
    ok(session, "follow_profile", profile_id=key)
    post = ok(session, "list_posts", profile_id=key)[0]["post_id"]
    ok(session, "block_profile", profile_id=key)
    refused(session, "not_found", "get_post", post_id=post)
    refused(session, "denied", "follow_profile", profile_id=key)
    refused(session, "conflict", "block_profile", profile_id=key)
    assert ok(session, "unblock_profile", profile_id=key)["standing"] == "none"
    assert ok(session, "get_post", post_id=post)["author_id"] == key


def test_likes_count_once_and_bookmarks_are_kept(session: Session) -> None:
    post = ok(session, "create_post", text="A quiet day", tags=["nature", "nature"])["post_id"]
    assert ok(session, "get_post", post_id=post)["tags"] == ["nature"]
    assert ok(session, "like_post", post_id=post)["likes"] == 1
    refused(session, "conflict", "like_post", post_id=post)
    assert ok(session, "unlike_post", post_id=post)["likes"] == 0
    before = [p["post_id"] for p in ok(session, "list_bookmarks", limit=50)]
    ok(session, "bookmark_post", post_id=post)
    assert [p["post_id"] for p in ok(session, "list_bookmarks", limit=50)] == [post, *before]
    ok(session, "remove_bookmark", post_id=before[0])
    comment = ok(session, "comment_post", post_id=post, text="Indeed")["comment_id"]
    ok(session, "delete_post", post_id=post)
    refused(session, "not_found", "delete_post_comment", comment_id=comment)
    assert [p["post_id"] for p in ok(session, "list_bookmarks", limit=50)] == before[1:]


def test_polls_take_one_vote_of_a_person(session: Session) -> None:
    net = net_of(session)
    own = ok(session, "create_poll", text="Tea or coffee?", options=["Tea", "Coffee"])["post_id"]
    refused(session, "denied", "vote_poll", post_id=own, choice=1)
    refused(session, "invalid_value", "create_poll", text="Which?", options=["Tea", "tea"])
    polls = [p for p in net.posts.values() if p.options and p.author != net._me and net._sees(p)]
    assert polls
    for poll in polls:
        before = ok(session, "get_poll", post_id=poll.post_id)[1]["votes"]
        refused(session, "invalid_value", "vote_poll", post_id=poll.post_id, choice=4)
        assert ok(session, "vote_poll", post_id=poll.post_id, choice=2)["votes"] == before + 1
        refused(session, "conflict", "vote_poll", post_id=poll.post_id, choice=1)


def test_followers_only_posts_are_not_shared(session: Session) -> None:
    hidden = ok(session, "create_post", text="While private", tags=[])["post_id"]
    refused(session, "denied", "share_post", post_id=hidden, text="Look")
    ok(session, "set_profile", settings={"bio": "", "private": False})
    ok(session, "share_post", post_id=hidden, text="Look")
    inner = ok(session, "create_post", text="For friends", tags=[], audience="followers")["post_id"]
    refused(session, "denied", "share_post", post_id=inner, text="Look")
    outer = ok(session, "create_post", text="For all", tags=[])["post_id"]
    again = ok(session, "share_post", post_id=outer, text="Look")["post_id"]
    ok(session, "share_post", post_id=again, text="Look again")
    assert ok(session, "get_post", post_id=outer)["shares"] == 2
    ok(session, "pin_post", post_id=outer)
    ok(session, "pin_post", post_id=inner)
    assert ok(session, "list_posts", profile_id=net_of(session)._me)[0]["post_id"] == inner


def test_going_public_takes_in_who_asked(session: Session) -> None:
    asking = {p["profile_id"] for p in ok(session, "list_follow_requests", limit=50)}
    assert len(asking) == 2
    told = ok(session, "set_profile", settings={"bio": "", "private": False})
    assert ok(session, "list_follow_requests") == []
    followers = {p["profile_id"] for p in ok(session, "list_profiles", standing="followers", limit=50)}
    assert asking <= followers and len(followers) == told["followers"]


def test_requests_are_accepted_or_declined_once(session: Session) -> None:
    first, second = (p["profile_id"] for p in ok(session, "list_follow_requests"))
    me = net_of(session)._me
    before = ok(session, "get_profile", profile_id=me)["followers"]
    ok(session, "accept_follower", profile_id=first)
    refused(session, "wrong_state", "accept_follower", profile_id=first)
    ok(session, "decline_follower", profile_id=second)
    refused(session, "wrong_state", "accept_follower", profile_id=second)
    assert ok(session, "get_profile", profile_id=me)["followers"] == before + 1
    assert ok(session, "list_follow_requests") == []


def test_a_block_takes_a_request_with_it(session: Session) -> None:
    asking = ok(session, "list_follow_requests")[0]["profile_id"]
    ok(session, "block_profile", profile_id=asking)
    refused(session, "wrong_state", "accept_follower", profile_id=asking)
    assert asking not in {p["profile_id"] for p in ok(session, "list_follow_requests")}


def test_a_draft_is_published_once(session: Session) -> None:
    draft = ok(session, "list_drafts_of_posts")[1]["draft_id"]
    ok(session, "publish_post_draft", draft_id=draft)
    refused(session, "not_found", "publish_post_draft", draft_id=draft)
    kept = ok(session, "save_post_draft", text="Not yet")["draft_id"]
    ok(session, "discard_post_draft", draft_id=kept)
    refused(session, "not_found", "publish_post_draft", draft_id=kept)


def test_a_minute_takes_one_scheduled_draft(session: Session) -> None:
    (planned,) = ok(session, "list_scheduled_posts")
    refused(session, "wrong_state", "publish_post_draft", draft_id=planned["draft_id"])
    other = ok(session, "save_post_draft", text="Later")["draft_id"]
    day, time = planned["due"].split()
    refused(session, "conflict", "schedule_post_draft", draft_id=other, due={"day": day, "time": time})
    refused(session, "wrong_state", "unschedule_post_draft", draft_id=other)
    for wrong in (f"{session.now:%Y-%m-%d}", f"{session.now.year + 1}-12-30", "2026-02-31"):
        refused(session, "invalid_value", "schedule_post_draft", draft_id=other, due={"day": wrong, "time": "00:00"})
    ok(session, "unschedule_post_draft", draft_id=planned["draft_id"])
    assert ok(session, "schedule_post_draft", draft_id=other, due={"day": day, "time": time})["due"] == planned["due"]
    ok(session, "publish_post_draft", draft_id=planned["draft_id"])
    assert [d["draft_id"] for d in ok(session, "list_scheduled_posts")] == [other]


def test_who_can_be_written_to(session: Session) -> None:
    net = net_of(session)
    key = next(p for p in net.profiles if net._standing(p) == "following")
    before = len(ok(session, "list_profile_messages", profile_id=key, limit=50))
    sent = ok(session, "message_profile", profile_id=key, text="Hello there")["message_id"]
    shown = ok(session, "list_profile_messages", profile_id=key, limit=50)
    assert shown[0] == {"message_id": sent, "mine": True, "text": "Hello there", "at": f"{session.now:%Y-%m-%d %H:%M}"}
    theirs = next(m.message_id for m in net.messages.values() if not m.mine)
    refused(session, "denied", "unsend_profile_message", message_id=theirs)
    ok(session, "unsend_profile_message", message_id=sent)
    assert len(ok(session, "list_profile_messages", profile_id=key, limit=50)) == before
    ok(session, "block_profile", profile_id=key)
    refused(session, "denied", "message_profile", profile_id=key, text="Still there?")
    asked = next(p for p in net.profiles if net._standing(p) == "requested")
    refused(session, "denied", "message_profile", profile_id=asked, text="Let me in")
    refused(session, "invalid_value", "message_profile", profile_id=net._me, text="Me")


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 1 << 20])
def test_every_world_has_something_for_every_tool(seed: int) -> None:
    with world(SocialMedia).session(seed) as session:
        assert len(ok(session, "list_follow_requests")) == 2 and ok(session, "list_bookmarks")
        for standing in ("following", "followers", "requested", "blocked"):
            assert ok(session, "list_profiles", standing=standing), standing
        assert len(ok(session, "list_feed", limit=50)) >= 5 and ok(session, "list_scheduled_posts")
        net = net_of(session)
        assert any(p.shared for p in net.posts.values()) and len(net.profiles) == 12
        assert all(net._sees(p) for p in net.posts.values() if p.saved)
