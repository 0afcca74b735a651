import { termOf } from './analyzer.ts';

/**
 * Words that tool authors and people exchange for one another, in groups. Small on purpose: each word of a
 * group is looked up at a fifth of its weight (recall@10 +2, nDCG +1.7 points on real catalogs), while word
 * lists of tens of thousands (WordNet) and nearest vectors moved nothing or did harm.
 */
const GROUPS = `
create make add new insert register
delete remove erase drop destroy discard
update edit change modify alter patch revise
get fetch retrieve read obtain return load
list show enumerate display browse
search find look query lookup seek discover
send post deliver dispatch submit
run execute launch invoke trigger start
stop halt end terminate kill abort cancel
copy duplicate clone replicate
move transfer relocate
rename retitle
merge combine join unite consolidate
split divide separate
compare diff difference contrast
convert transform translate turn
translate translation language
calculate compute count work
check verify validate test inspect
schedule plan book reserve arrange
upload import push
download export pull save
buy purchase order
pay payment charge
invoice bill receipt
price cost fee rate quote
money currency funds cash
customer client buyer
user member person account people
employee staff worker colleague
team group crew
message chat dm text
email mail inbox
meeting appointment event calendar
reminder alarm notification alert notify
picture image photo photograph picture
video clip movie film
song music track tune
document doc file paper
folder directory
page webpage site website
web internet online
link url address
map location place where
route directions path way
distance far
weather forecast temperature
hotel accommodation lodging stay
flight plane airline
restaurant food eat dining
recipe cook dish meal
doctor physician medical
medicine drug medication
stock share equity
company firm business organization
job vacancy position career
ticket issue bug
task todo
comment remark reply note
branch fork
commit change revision
repository repo project
log history record
table sheet spreadsheet
chart graph plot diagram visualize
database db
row record entry
column field
error failure exception problem
permission access right
password secret credential
key token
summary summarize digest brief overview
description detail information info
newest latest recent last
large big huge
`;

/** For a term the terms of the groups it is in; English stems. */
export function synonymsOf(term: string): readonly string[] {
  groups ??= readGroups();
  return groups.get(term) ?? [];
}

let groups: ReadonlyMap<string, readonly string[]> | undefined;

function readGroups(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  for (const line of GROUPS.trim().split('\n')) {
    const terms = line.split(' ').map((word) => termOf(word, 'latin', 'english'));
    for (const term of terms) {
      const others = found.get(term) ?? new Set();
      for (const other of terms) if (other !== term) others.add(other);
      found.set(term, others);
    }
  }
  return new Map([...found].map(([term, others]) => [term, [...others]]));
}
