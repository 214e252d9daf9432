// find_user of redis_recipes.py, for the npm package redis. db.get returns a row, or undefined.
async function findUser(client, db, name) {
  if (!(await client.sendCommand(['AF.EXISTS', 'users', name]))) return null;
  const row = await db.get(name);
  if (row !== undefined) return row;
  await client.sendCommand(['AF.REPORT', 'users', name]);
  if ((await db.get(name)) !== undefined) await client.sendCommand(['AF.ADD', 'users', name]);
  return null;
}

module.exports = { findUser };
