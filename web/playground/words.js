// Keys of the scene "Watch a table": the store holds fruits, and no animal is in it.

export const MEMBERS = `
  apple pear plum fig kiwi lime date mango cherry peach quince papaya guava lemon grape melon olive
  banana lychee orange pomelo durian loquat sloe cassis acai haw akee ugli yuzu
`.trim().split(/\s+/);

export const ABSENT = `
  ant badger bat bear bee bison boar camel cat cobra cow crab crow deer dingo dog dove duck eagle
  eel elk falcon ferret finch fox frog goat goose gull hare hawk heron horse hyena jackal koala lark
  lion lynx mole moose mouse newt orca otter owl panda pigeon puma quail raven robin rook salmon
  seal shark sloth snail stork swan toad wolf
`.trim().split(/\s+/);
