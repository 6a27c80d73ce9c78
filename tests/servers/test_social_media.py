"""The social media server: who sees what, follows and requests, blocks that sever, counts that are those of rows."""

from __future__ import annotations

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
        assert not post.shared or post.shared in net.posts
    assert all(c.post_id in net.posts for c in net.comments.values())
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
    with world(SocialMedia).session(7) as opened:
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
    ok(session, "bookmark_post", post_id=post)
    assert [p["post_id"] for p in ok(session, "list_bookmarks")] == [post]
    comment = ok(session, "comment_post", post_id=post, text="Indeed")["comment_id"]
    ok(session, "delete_post", post_id=post)
    refused(session, "not_found", "delete_post_comment", comment_id=comment)
    assert ok(session, "list_bookmarks") == []


def test_polls_take_one_vote_of_a_person(session: Session) -> None:
    net = net_of(session)
    own = ok(session, "create_poll", text="Tea or coffee?", options=["Tea", "Coffee"])["post_id"]
    refused(session, "denied", "vote_poll", post_id=own, choice=1)
    refused(session, "invalid_value", "create_poll", text="Which?", options=["Tea", "tea"])
    polls = [p for p in net.posts.values() if p.options and p.author != net._me and net._sees(p)]
    for poll in polls:
        refused(session, "invalid_value", "vote_poll", post_id=poll.post_id, choice=3)
        assert ok(session, "vote_poll", post_id=poll.post_id, choice=2)["votes"] == 1
        refused(session, "conflict", "vote_poll", post_id=poll.post_id, choice=1)


def test_followers_only_posts_are_not_shared(session: Session) -> None:
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
    ok(session, "set_profile", settings={"bio": "Hello", "private": True})
    ok(session, "set_profile", settings={"bio": "", "private": False})
    assert ok(session, "list_follow_requests") == []


def test_a_draft_is_published_once(session: Session) -> None:
    draft = ok(session, "list_drafts_of_posts")[0]["draft_id"]
    ok(session, "publish_post_draft", draft_id=draft)
    refused(session, "not_found", "publish_post_draft", draft_id=draft)
