// Keys of the scene "Watch a table": the store holds fruits, and no animal is in it.

export const MEMBERS = ('apple pear plum fig kiwi lime date mango cherry peach quince papaya guava lemon grape melon ' +
  'olive banana lychee orange medlar currant apricot pomelo durian loquat sloe coconut cassis satsuma').split(' ');

export const ABSENT = ('ant badger bat bear beaver bee bison boar camel cat cobra cow crab crane crow deer dingo dog dove duck ' +
  'eagle eel elk emu falcon ferret finch fox frog goat goose grouse gull hare hawk heron horse hyena ibis jackal koala lark ' +
  'lion lynx mole moose moth mouse newt okapi orca otter owl panda pigeon pike puma quail rabbit raven robin rook salmon seal ' +
  'shark sheep sloth snail squid stork swan tapir tiger toad trout turtle viper whale wolf wombat yak zebra').split(' ');
