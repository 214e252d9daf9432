"""Recipes for the module for Redis and Valkey: docs/redis.md says what they save.

Set `r` to a client, for example redis.Redis() of the package redis, and `db` to an SQLite database.
Two rules keep members from being denied. Commit the row first, then add its item: an add ends a
report. After a report, look once more: a row may have been committed and added before the report.
The first recipe is a database and absent keys.
"""

r = db = None


def report_absent(key, item, select, *values):
    r.execute_command("AF.REPORT", key, item)  # the next request stops at the filter
    if db.execute(select, values).fetchone():
        r.execute_command("AF.ADD", key, item)


def add_user(name):
    db.execute("INSERT INTO users(name) VALUES (?)", (name,))
    r.execute_command("AF.ADD", "users", name)


def find_user(name):
    if not r.execute_command("AF.EXISTS", "users", name):
        return None  # certainly not in the database
    select = "SELECT rowid FROM users WHERE name = ?"
    row = db.execute(select, (name,)).fetchone()
    if row is None:
        report_absent("users", name, select, name)
    return row


# Duplicates of a stream. NX adds only what is answered no; the reply tells which items are new. A
# false positive drops a new event, so the error rate is low: 1 million events take 3.2 MB. One key
# per day and EXPIRE bound the memory.
def is_new(day, event):
    key = "events:" + day
    (new,) = r.execute_command("AF.INSERT", key, "CAPACITY", 1000000, "ERROR", 0.000001, "NX", "ITEMS", event)
    if new:
        r.execute_command("EXPIRE", key, 2 * 86400)
    return bool(new)


# If no event may be lost: look into the archive, events(day, id), before an event is dropped, and
# add it when its batch is committed. Then an error rate of 0.01 is enough, in less than half of the
# memory.
def is_archived(day, event):
    key = "events:" + day
    if not r.execute_command("AF.EXISTS", key, event):
        return False
    select = "SELECT 1 FROM events WHERE day = ? AND id = ?"
    if db.execute(select, (day, event)).fetchone():
        return True
    report_absent(key, event, select, day, event)
    return False


# Tokens that are accepted once. A used token is never accepted again; a false positive refuses a
# new one, so that its owner must get another. 1 million tokens take 4.7 MB, 3.2 MB with CAPACITY.
def use_token(token):
    (new,) = r.execute_command("AF.INSERT", "used-tokens", "ERROR", 0.000001, "NX", "ITEMS", token)
    return bool(new)


# With a table used_tokens(token) its row decides, and the filter answers clients that poll. Do not
# mix this with use_token, which adds a token before there is a row.
def use_token_of_table(token):
    try:
        db.execute("INSERT INTO used_tokens VALUES (?)", (token,))
    except db.IntegrityError:
        return False
    r.execute_command("AF.ADD", "used-tokens", token)
    return True


def was_used(token):
    if not r.execute_command("AF.EXISTS", "used-tokens", token):
        return False
    select = "SELECT 1 FROM used_tokens WHERE token = ?"
    if db.execute(select, (token,)).fetchone():
        return True
    report_absent("used-tokens", token, select, token)
    return False


# What each user has seen: one small key per user, which does not grow, 0.4 KB for 100 items.
def unseen(user, articles):
    key = "seen:%d" % user
    seen = r.execute_command("AF.MEXISTS", key, *articles)
    return [article for article, yes in zip(articles, seen) if not yes]


def mark_seen(user, article):
    r.execute_command("AF.INSERT", "seen:%d" % user, "CAPACITY", 100, "ERROR", 0.01, "NONSCALING", "NX",
                      "ITEMS", article)


# A false positive hides an article. If none may be hidden, check those that are answered yes in the
# table seen(user, article).
def not_read(user, articles):
    unread = unseen(user, articles)
    select = "SELECT 1 FROM seen WHERE user = ? AND article = ?"
    for article in set(articles) - set(unread):
        if db.execute(select, (user, article)).fetchone() is None:
            report_absent("seen:%d" % user, article, select, user, article)
            unread.append(article)
    return unread
