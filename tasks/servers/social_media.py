"""The social media server: profiles, follows, posts, comments, likes, shares, bookmarks and blocks, as one user sees them.

    with environment(["social_media"]).session(7) as session:
        session.call("find_profile", {"name": "Orchid Lane"})

Posts of a private profile are seen by its followers only, and following it takes a request. A block severs follows both
ways, hides each from the other's posts and ends messages between them. Drafts are published once, now or at a minute that no
other draft has, and a poll takes one vote of a person.

Left out: pictures, advertising, and people who answer by themselves.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal

from pydantic import Field

from tasks.servers import social_media_types as t
from tasks.servers.lookup import existing, named
from tasks.servers.session import Server
from tasks.servers.social_media_data import seed_rows
from tasks.servers.social_media_types import Comment, Draft, Link, Post, PrivateMessage, Profile, User
from tasks.servers.state import Seed, Table
from tasks.servers.tool import ToolError, tool
from tasks.servers.typed import Limit, date_of, plain, time_of
from tasks.servers.world import World

AHEAD = 60
"""Days ahead for which a draft can be scheduled."""


class SocialMedia(Server):
    """One user's view of a network."""

    name = "social_media"
    title = "Profiles, follows, posts, comments, likes, messages and blocks."

    profiles: Table[Profile]
    links: Table[Link]
    posts: Table[Post]
    comments: Table[Comment]
    drafts: Table[Draft]
    messages: Table[PrivateMessage]
    user: Table[User]

    @classmethod
    def seed(cls, world: World) -> Seed:
        return seed_rows(world)

    # -- profiles ----------------------------------------------------------------------------------

    @tool(read_only=True)
    def find_profile(self, name: t.KnownHandle) -> t.ProfileShown:
        """Finds a profile by its name."""
        return self._profile_shown(named(self._visible_profiles(), name, "profile", "list_profiles"))

    @tool(read_only=True)
    def list_profiles(
        self,
        standing: Annotated[
            Literal["any", "following", "followers", "requested", "blocked"], Field(description="Which profiles.")
        ] = "any",
        limit: Limit = 5,
    ) -> list[t.ProfileShown]:
        """Lists profiles: all, those that the user follows or asked to, followers, or blocked ones."""
        me = self._me
        rows = {
            "any": lambda p: p.profile_id != me and not self._blocked(p.profile_id, me),
            "following": lambda p: self._standing(p.profile_id) == "following",
            "requested": lambda p: self._standing(p.profile_id) == "requested",
            "blocked": lambda p: self._standing(p.profile_id) == "blocked",
            "followers": lambda p: self._follows(p.profile_id, me),
        }[standing]
        return [self._profile_shown(p) for p in self.profiles.where(rows)[: int(limit)]]

    @tool(read_only=True)
    def get_profile(self, profile_id: t.ProfileId) -> t.ProfileTold:
        """A profile's line about itself, and how many follow it, it follows, and posts it has."""
        row = self._profile(profile_id)
        return {
            "profile_id": profile_id,
            "bio": row.bio,
            "followers": self._followers(profile_id),
            "following": sum(k.source == profile_id and k.kind == "follow" and not k.pending for k in self.links.values()),
            "posts": sum(p.author == profile_id for p in self.posts.values()),
        }

    @tool(idempotent=True)
    def set_profile(self, settings: Annotated[t.Settings, Field(description="The new settings.")]) -> t.ProfileTold:
        """Changes the user's own profile; made public, it takes in everybody who asked."""
        me = self._me
        bio = plain(settings["bio"], "bio") if settings["bio"] else ""
        self.profiles.update(me, bio=bio, private=settings["private"])
        if not settings["private"]:
            for key, link in self.links.items():
                if link.kind == "follow" and link.target == me and link.pending:
                    self.links.update(key, pending=False)
        return self.get_profile(me)

    # -- follows and blocks ------------------------------------------------------------------------

    @tool()
    def follow_profile(self, profile_id: t.ProfileId) -> t.FollowDone:
        """Follows a profile; a private one is asked first."""
        row, me = self._profile(profile_id), self._me
        if profile_id == me:
            raise ToolError("invalid_value", "the user cannot follow themselves", "Give another profile.")
        self._not_blocked(profile_id)
        if f"follow/{me}/{profile_id}" in self.links:
            raise ToolError("conflict", "the user follows or has asked this profile already", "Nothing is needed.")
        self.links.put(f"follow/{me}/{profile_id}", Link("follow", me, profile_id, row.private))
        return {"profile_id": profile_id, "standing": self._standing(profile_id)}

    @tool()
    def unfollow_profile(self, profile_id: t.ProfileId) -> t.FollowDone:
        """Stops following a profile, or takes back a request."""
        self._profile(profile_id)
        key = f"follow/{self._me}/{profile_id}"
        if key not in self.links:
            raise ToolError("wrong_state", "the user does not follow this profile", "Nothing is needed.")
        self.links.remove(key)
        return {"profile_id": profile_id, "standing": self._standing(profile_id)}

    @tool(read_only=True)
    def list_follow_requests(self, limit: Limit = 5) -> list[t.ProfileShown]:
        """Lists profiles that ask to follow the user."""
        me = self._me
        asking = [k.source for k in self.links.values() if k.kind == "follow" and k.target == me and k.pending]
        return [self._profile_shown(self.profiles[p]) for p in asking[: int(limit)]]

    @tool()
    def accept_follower(self, profile_id: t.ProfileId) -> t.FollowerDone:
        """Lets a profile follow that asks to."""
        key = self._request(profile_id)
        self.links.update(key, pending=False)
        return {"profile_id": profile_id, "followers": self._followers(self._me)}

    @tool()
    def decline_follower(self, profile_id: t.ProfileId) -> t.FollowerDone:
        """Refuses a profile that asks to follow."""
        self.links.remove(self._request(profile_id))
        return {"profile_id": profile_id, "followers": self._followers(self._me)}

    @tool()
    def block_profile(self, profile_id: t.ProfileId) -> t.FollowDone:
        """Blocks a profile: neither follows, sees or writes to the other any more."""
        self._profile(profile_id)
        me = self._me
        if profile_id == me:
            raise ToolError("invalid_value", "the user cannot block themselves", "Give another profile.")
        if self._blocked(me, profile_id):
            raise ToolError("conflict", "this profile is blocked already", "Nothing is needed.")
        for source, target in ((me, profile_id), (profile_id, me)):
            if f"follow/{source}/{target}" in self.links:
                self.links.remove(f"follow/{source}/{target}")
        self.links.put(f"block/{me}/{profile_id}", Link("block", me, profile_id))
        return {"profile_id": profile_id, "standing": "blocked"}

    @tool()
    def unblock_profile(self, profile_id: t.ProfileId) -> t.FollowDone:
        """Takes a block back; follows do not return by it."""
        self._profile(profile_id)
        key = f"block/{self._me}/{profile_id}"
        if key not in self.links:
            raise ToolError("wrong_state", "this profile is not blocked", "Nothing is needed.")
        self.links.remove(key)
        return {"profile_id": profile_id, "standing": self._standing(profile_id)}

    # -- posts -------------------------------------------------------------------------------------

    @tool(read_only=True)
    def list_feed(self, limit: Limit = 5) -> list[t.PostShown]:
        """Lists the newest posts of the profiles that the user follows."""
        rows = [p for p in self.posts.values() if self._follows(self._me, p.author) and self._sees(p)]
        return [self._post_shown(p) for p in _newest(rows)[: int(limit)]]

    @tool(read_only=True)
    def list_posts(self, profile_id: t.ProfileId, limit: Limit = 5) -> list[t.PostShown]:
        """Lists a profile's posts that the user may see, a pinned one first, then the newest."""
        self._profile(profile_id)
        rows = _newest([p for p in self.posts.values() if p.author == profile_id and self._sees(p)])
        return [self._post_shown(p) for p in sorted(rows, key=lambda p: not p.pinned)[: int(limit)]]

    @tool(read_only=True)
    def find_posts_by_tag(self, tag: t.Tag, limit: Limit = 5) -> list[t.PostShown]:
        """Lists the newest posts with a hashtag."""
        rows = [p for p in self.posts.values() if tag in p.tags and self._sees(p)]
        return [self._post_shown(p) for p in _newest(rows)[: int(limit)]]

    @tool(read_only=True)
    def list_hashtags(self, limit: Limit = 5) -> list[t.TagShown]:
        """Lists hashtags, the most used first."""
        counts: dict[str, int] = {}
        for post in self.posts.values():
            for tag in post.tags if self._sees(post) else ():
                counts[tag] = counts.get(tag, 0) + 1
        best = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[: int(limit)]
        return [{"tag": tag, "posts": count} for tag, count in best]

    @tool(read_only=True)
    def get_post(self, post_id: t.PostId) -> t.PostTold:
        """A post's audience, hashtags and how often it was liked and shared."""
        row = self._post(post_id)
        return {
            "post_id": post_id,
            "author_id": row.author,
            "audience": row.audience,
            "likes": len(row.likes),
            "shares": sum(p.shared == post_id for p in self.posts.values()),
            "tags": list(row.tags),
        }

    @tool()
    def create_post(
        self,
        text: t.PostText,
        tags: Annotated[list[t.Tag], Field(max_length=5, description="Hashtags without #.")],
        audience: Annotated[t.Audience, Field(description="Who may see it.")] = "everyone",
    ) -> t.PostDone:
        """Publishes a post of the user."""
        return self._publish(plain(text), tuple(sorted(set(tags))), audience)

    @tool()
    def create_poll(
        self,
        text: t.PostText,
        options: Annotated[
            list[Annotated[str, Field(min_length=1, max_length=40, description="A choice.")]],
            Field(min_length=2, max_length=4, description="What to choose from."),
        ],
    ) -> t.PostDone:
        """Publishes a question with choices, for everyone."""
        choices = tuple(plain(option) for option in options)
        if len({c.casefold() for c in choices}) < len(choices):
            raise ToolError("invalid_value", "a choice is given twice", "Give different choices.")
        return self._publish(plain(text), (), "everyone", choices)

    @tool(read_only=True)
    def get_poll(self, post_id: t.PostId) -> list[t.Choice]:
        """The choices of a poll with their votes."""
        row = self._poll(post_id)
        return [
            {"choice": n, "text": text, "votes": sum(v == n for _, v in row.votes)} for n, text in enumerate(row.options, 1)
        ]

    @tool()
    def vote_poll(self, post_id: t.PostId, choice: Annotated[int, Field(ge=1, le=4, description="Its number.")]) -> t.Choice:
        """Votes in a poll of somebody else, once."""
        row, number = self._poll(post_id), int(choice)
        if number > len(row.options):
            raise ToolError("invalid_value", f"this poll has {len(row.options)} choices", "get_poll shows them.")
        if any(voter == self._me for voter, _ in row.votes):
            raise ToolError("conflict", "the user has voted already", "Nothing is needed.")
        if row.author == self._me:
            raise ToolError("denied", "this is the user's own poll", "Others vote in it.")
        self.posts.update(post_id, votes=(*row.votes, (self._me, number)))
        return self.get_poll(post_id)[number - 1]

    @tool()
    def share_post(self, post_id: t.PostId, text: t.PostText) -> t.PostDone:
        """Shares a post that everyone may see, with a line of the user's."""
        row = self._post(post_id)
        if self._inner(row):
            raise ToolError("denied", "this post is for followers only", "Share posts of public profiles for everyone.")
        return self._publish(plain(text), (), "everyone", shared=row.shared or post_id)

    @tool(destructive=True)
    def delete_post(self, post_id: t.PostId) -> t.PostDone:
        """Deletes one of the user's own posts with its comments."""
        row = self._own(post_id)
        for key in [c.comment_id for c in self.comments.values() if c.post_id == post_id]:
            self.comments.remove(key)
        for other in self.posts.where(lambda p: p.shared == post_id):
            self.posts.update(other.post_id, shared="")
        self.posts.remove(post_id)
        return {"post_id": post_id, "audience": row.audience}

    @tool(idempotent=True)
    def pin_post(self, post_id: t.PostId) -> t.PostDone:
        """Pins one of the user's own posts, instead of the one that was pinned."""
        row = self._own(post_id)
        for other in self.posts.where(lambda p: p.pinned and p.author == row.author and p.post_id != post_id):
            self.posts.update(other.post_id, pinned=False)
        self.posts.update(post_id, pinned=True)
        return {"post_id": post_id, "audience": row.audience}

    @tool()
    def like_post(self, post_id: t.PostId) -> t.LikeDone:
        """Likes a post, once."""
        row = self._post(post_id)
        if self._me in row.likes:
            raise ToolError("conflict", "the user likes this post already", "unlike_post takes it back.")
        self.posts.update(post_id, likes=(*row.likes, self._me))
        return {"post_id": post_id, "likes": len(row.likes) + 1}

    @tool()
    def unlike_post(self, post_id: t.PostId) -> t.LikeDone:
        """Takes a like back."""
        row = self._post(post_id)
        if self._me not in row.likes:
            raise ToolError("wrong_state", "the user does not like this post", "Nothing is needed.")
        self.posts.update(post_id, likes=tuple(p for p in row.likes if p != self._me))
        return {"post_id": post_id, "likes": len(row.likes) - 1}

    @tool(idempotent=True)
    def bookmark_post(self, post_id: t.PostId) -> t.SaveDone:
        """Keeps a post among the user's bookmarks."""
        row = self._post(post_id)
        self.posts.update(post_id, saved=tuple(dict.fromkeys((*row.saved, self._me))))
        return {"post_id": post_id, "saved": True}

    @tool(idempotent=True)
    def remove_bookmark(self, post_id: t.PostId) -> t.SaveDone:
        """Takes a post off the user's bookmarks."""
        row = self._post(post_id)
        self.posts.update(post_id, saved=tuple(p for p in row.saved if p != self._me))
        return {"post_id": post_id, "saved": False}

    @tool(read_only=True)
    def list_bookmarks(self, limit: Limit = 5) -> list[t.PostShown]:
        """Lists the user's bookmarks, the newest post first."""
        rows = [p for p in self.posts.values() if self._me in p.saved and self._sees(p)]
        return [self._post_shown(p) for p in _newest(rows)[: int(limit)]]

    # -- comments and drafts -----------------------------------------------------------------------

    @tool()
    def comment_post(self, post_id: t.PostId, text: t.PostText) -> t.CommentDone:
        """Comments on a post."""
        self._post(post_id)
        line = plain(text)
        key = self.comments.fresh("pcom", post_id, line)
        self.comments.put(key, Comment(key, post_id, self._me, line))
        return {"comment_id": key, "comments": self._count(post_id)}

    @tool(read_only=True)
    def list_post_comments(self, post_id: t.PostId, limit: Limit = 5) -> list[t.CommentShown]:
        """Lists a post's comments."""
        self._post(post_id)
        rows = self.comments.where(lambda c: c.post_id == post_id)[: int(limit)]
        return [{"comment_id": c.comment_id, "author_id": c.author, "text": c.text} for c in rows]

    @tool(destructive=True)
    def delete_post_comment(self, comment_id: t.PostCommentId) -> t.CommentDone:
        """Deletes a comment of the user, or any on a post of the user."""
        row = existing(self.comments, comment_id, "comment", "list_post_comments")
        if self._me not in (row.author, self.posts[row.post_id].author):
            raise ToolError("denied", "neither the comment nor the post is the user's", "Only own ones can be deleted.")
        self.comments.remove(comment_id)
        return {"comment_id": comment_id, "comments": self._count(row.post_id)}

    @tool(read_only=True)
    def list_drafts_of_posts(self, limit: Limit = 5) -> list[t.DraftShown]:
        """Lists posts that are written and not published."""
        rows = list(self.drafts.values())[: int(limit)]
        return [{"draft_id": d.draft_id, "text": d.text, "audience": d.audience} for d in rows]

    @tool()
    def save_post_draft(
        self, text: t.PostText, audience: Annotated[t.Audience, Field(description="Who may see it.")] = "everyone"
    ) -> t.DraftDone:
        """Keeps a post for later; publish_post_draft publishes it."""
        line = plain(text)
        key = self.drafts.fresh("pdr", line, audience)
        self.drafts.put(key, Draft(key, line, audience, ()))
        return {"draft_id": key, "drafts": len(self.drafts)}

    @tool()
    def publish_post_draft(self, draft_id: t.DraftId) -> t.PostDone:
        """Publishes a draft that is not scheduled; it is no draft any more."""
        row = self._draft(draft_id)
        if row.due:
            raise ToolError("wrong_state", f"{draft_id} is due at {row.due}", "Use unschedule_post_draft first.")
        self.drafts.remove(draft_id)
        return self._publish(row.text, row.tags, row.audience)

    @tool(destructive=True)
    def discard_post_draft(self, draft_id: t.DraftId) -> t.DraftDone:
        """Deletes a draft, scheduled or not."""
        self._draft(draft_id)
        self.drafts.remove(draft_id)
        return {"draft_id": draft_id, "drafts": len(self.drafts)}

    @tool()
    def schedule_post_draft(
        self, draft_id: t.DraftId, due: Annotated[t.Slot, Field(description="When to publish it.")]
    ) -> t.ScheduleDone:
        """Sets when a draft is to be published, or another time for it; each minute takes one."""
        self._draft(draft_id)
        at = dt.datetime.combine(date_of(due["day"]), time_of(due["time"]))
        if not self.now < at <= self.now + dt.timedelta(days=AHEAD):
            raise ToolError("invalid_value", f"{at:%Y-%m-%d %H:%M} is not within the next {AHEAD} days", "Give a later time.")
        slot = f"{at:%Y-%m-%d %H:%M}"
        if any(d.due == slot and d.draft_id != draft_id for d in self.drafts.values()):
            raise ToolError("conflict", f"another draft is due at {slot}", "list_scheduled_posts shows which.")
        self.drafts.update(draft_id, due=slot)
        return {"draft_id": draft_id, "due": slot}

    @tool()
    def unschedule_post_draft(self, draft_id: t.DraftId) -> t.UnscheduleDone:
        """Takes a draft off the schedule; it stays a draft."""
        row = self._draft(draft_id)
        if not row.due:
            raise ToolError("wrong_state", f"{draft_id} is not scheduled", "Nothing is needed.")
        self.drafts.update(draft_id, due="")
        return {"draft_id": draft_id, "scheduled": sum(bool(d.due) for d in self.drafts.values())}

    @tool(read_only=True)
    def list_scheduled_posts(self, limit: Limit = 5) -> list[t.ScheduledShown]:
        """Lists drafts that are scheduled, the next one first."""
        rows = sorted(self.drafts.where(lambda d: bool(d.due)), key=lambda d: d.due)[: int(limit)]
        return [{"draft_id": d.draft_id, "text": d.text, "due": d.due} for d in rows]

    # -- messages ----------------------------------------------------------------------------------

    @tool()
    def message_profile(self, profile_id: t.ProfileId, text: t.PostText) -> t.MessageDone:
        """Writes to a profile in private; a private profile must be followed first."""
        row, line = self._profile(profile_id), plain(text)
        if profile_id == self._me:
            raise ToolError("invalid_value", "the user cannot write to themselves", "Give another profile.")
        self._not_blocked(profile_id)
        if row.private and not self._follows(self._me, profile_id):
            raise ToolError("denied", "only followers write to a private profile", "Use follow_profile first.")
        key = self.messages.fresh("pms", profile_id, line)
        self.messages.put(key, PrivateMessage(key, profile_id, True, line, f"{self.now:%Y-%m-%d %H:%M}"))
        return {"message_id": key, "profile_id": profile_id}

    @tool(read_only=True)
    def list_profile_messages(self, profile_id: t.ProfileId, limit: Limit = 5) -> list[t.MessageShown]:
        """Lists private messages with a profile, the newest first."""
        self._profile(profile_id)
        rows = self.messages.where(lambda m: m.profile_id == profile_id)
        rows.sort(key=lambda m: (m.at, m.message_id), reverse=True)
        return [{"message_id": m.message_id, "mine": m.mine, "text": m.text, "at": m.at} for m in rows[: int(limit)]]

    @tool(destructive=True)
    def unsend_profile_message(self, message_id: t.ProfileMessageId) -> t.MessageDone:
        """Takes back a private message that the user wrote."""
        row = existing(self.messages, message_id, "message", "list_profile_messages")
        if not row.mine:
            raise ToolError("denied", "the user did not write this message", "Only own messages can be taken back.")
        self.messages.remove(message_id)
        return {"message_id": message_id, "profile_id": row.profile_id}

    # -- helpers -----------------------------------------------------------------------------------

    @property
    def _me(self) -> str:
        return self.user["user"].profile_id

    def _blocked(self, source: str, target: str) -> bool:
        return f"block/{source}/{target}" in self.links

    def _not_blocked(self, profile_id: str) -> None:
        if self._blocked(self._me, profile_id):
            raise ToolError("denied", "the user has blocked this profile", "Use unblock_profile first.")

    def _follows(self, source: str, target: str) -> bool:
        link = self.links.get(f"follow/{source}/{target}")
        return link is not None and not link.pending

    def _followers(self, profile_id: str) -> int:
        return sum(k.target == profile_id and k.kind == "follow" and not k.pending for k in self.links.values())

    def _standing(self, profile_id: str) -> t.Standing:
        if profile_id == self._me:
            return "self"
        if self._blocked(self._me, profile_id):
            return "blocked"
        link = self.links.get(f"follow/{self._me}/{profile_id}")
        return "none" if link is None else "requested" if link.pending else "following"

    def _visible_profiles(self) -> list[Profile]:
        return self.profiles.where(lambda p: not self._blocked(p.profile_id, self._me))

    def _profile(self, profile_id: str) -> Profile:
        return existing(self.profiles, profile_id, "profile", "list_profiles")

    def _profile_shown(self, row: Profile) -> t.ProfileShown:
        standing = self._standing(row.profile_id)
        return {"profile_id": row.profile_id, "name": row.name, "private": row.private, "standing": standing}

    def _request(self, profile_id: str) -> str:
        self._profile(profile_id)
        key = f"follow/{profile_id}/{self._me}"
        link = self.links.get(key)
        if link is None or not link.pending:
            raise ToolError("wrong_state", "this profile does not ask to follow", "list_follow_requests shows who does.")
        return key

    def _sees(self, row: Post) -> bool:
        me = self._me
        if row.author == me:
            return True
        if self._blocked(me, row.author) or self._blocked(row.author, me):
            return False
        return not self._inner(row) or self._follows(me, row.author)

    def _inner(self, row: Post) -> bool:
        """Whether only followers of its author see a post."""
        return row.audience == "followers" or self.profiles[row.author].private

    def _post(self, post_id: str) -> Post:
        row = existing(self.posts, post_id, "post", "list_feed")
        if not self._sees(row):  # as if it did not exist
            raise ToolError("not_found", f"there is no post {post_id}", "list_feed shows what there is.")
        return row

    def _own(self, post_id: str) -> Post:
        row = self._post(post_id)
        if row.author != self._me:
            raise ToolError("denied", "this is somebody else's post", "Only own posts can be changed.")
        return row

    def _draft(self, draft_id: str) -> Draft:
        return existing(self.drafts, draft_id, "draft", "list_drafts_of_posts")

    def _poll(self, post_id: str) -> Post:
        row = self._post(post_id)
        if not row.options:
            raise ToolError("wrong_state", f"{post_id} is no poll", "Posts without choices cannot be voted on.")
        return row

    def _count(self, post_id: str) -> int:
        return sum(c.post_id == post_id for c in self.comments.values())

    def _post_shown(self, row: Post) -> t.PostShown:
        return {
            "post_id": row.post_id,
            "author_id": row.author,
            "text": row.text,
            "likes": len(row.likes),
            "comments": self._count(row.post_id),
        }

    def _publish(
        self, text: str, tags: tuple[str, ...], audience: t.Audience, options: tuple[str, ...] = (), shared: str = ""
    ) -> t.PostDone:
        key = self.posts.fresh("post", text, tags, audience, options, shared)
        at = f"{self.now:%Y-%m-%d %H:%M}"
        self.posts.put(key, Post(key, self._me, text, at, audience, tags, shared=shared, options=options))
        return {"post_id": key, "audience": audience}


def _newest(rows: list[Post]) -> list[Post]:
    return sorted(rows, key=lambda p: (p.at, p.post_id), reverse=True)
