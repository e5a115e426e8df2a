// What a page carries, as data.js unpacks it, and what the modules pass to each other. model.go, timeline.go, roofline.go and
// launches.go of this folder's parent, and page.go of viewer/listing, write the same on the other side.

type Numbers = Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

/** Unit is a factor and the unit's name with it: [1e6, "ms"]. */
type Unit = [factor: number, name: string];

interface Section {
  at: number;
  size: number;
  count: number;
  as: string;
}

interface Device {
  type: string;
  id: string;
  arch: string;
  sms: number;
  clock: number; // kHz
  memory: number; // kHz
  bus: number; // bits
  name?: string;
}

interface ProfileFile {
  name: string;
  info: Record<string, string>;
  devices: Device[];
}

interface Column {
  index: number;
  name: string;
  label: string;
  unit: string;
  role?: "own" | "share" | "old" | "delta" | "ratio";
  about?: string;
  shown?: boolean;
  tip?: boolean;
  signed?: boolean;
  percentile?: boolean; // zeros at a number's end are not known
  texts: string[]; // values number these; undefined in a column of numbers
  // columns.js adds these:
  largest: number;
  scale: Unit;
  decimals: number;
  width: number;
}

/** Metric is one that adds up over subtrees, so that widths and shares can show it. Its numbers are columns, -1 for none. */
interface Metric {
  label: string;
  unit: string;
  column: number;
  old: number;
  delta: number;
  ratio: number;
}

/** Places of frames in preorder. */
interface Frames {
  count: number;
  depth: ArrayLike<number>;
  parent: Int32Array;
  end: Int32Array; // one past the last frame below
}

/** Rows have a name, an index of the report's strings; side says which of two profiles has them. */
interface Rows {
  count: number;
  name: ArrayLike<number>;
  side: ArrayLike<number> | null; // null for one profile
  values: Numbers[]; // by column
}

interface Tree extends Frames, Rows {
  kind: Numbers;
}

interface Lane {
  name: string;
  process?: string;
  kind: number; // 2 for a stream of a GPU
  row: number; // its first
  rows: number;
  top: number; // of timeline.js: its place in CSS pixels
}

interface Slices {
  count: number;
  start: Numbers; // ns since the first of the timeline
  duration: Numbers;
  busy: Float64Array; // time that the slices before this one cover
  works: boolean;
  name: Numbers;
  kind: Numbers;
  path: Numbers; // a frame of the trie plus 1
  bytes: Numbers;
  lane: Lane;
}

interface Counter {
  name: string;
  at: Numbers; // ns since the first of the timeline
  value: Numbers; // bytes, from that time on
  most: number;
  top: number; // of timeline.js: its place in CSS pixels
  blocks?: Float64Array; // of counters.js: the highest values of many points each
}

type CounterHead = {name: string; at: Section; value: Section};

interface TimelineData {
  span: number; // ns
  start: string;
  lanes: Lane[];
  rows: Slices[];
  pathName: Numbers;
  pathParent: Numbers;
  counters: Counter[];
  flows: {count: number; fromRow: Numbers; from: Numbers; toRow: Numbers; to: Numbers};
}

/** SliceAt is a slice by its row and its number there. */
interface SliceAt {
  row: number;
  index: number;
}

interface Flow {
  from: SliceAt;
  to: SliceAt;
}

interface Span {
  from: number;
  to: number;
}

interface Ceiling {
  dtype: string;
  rate: number;
  recorded: boolean;
}

interface Roof {
  device: string;
  bytes: number; // per second
  ceilings: Ceiling[];
}

/** Dot is a kernel on the roofline: x is its intensity and y its rate, x0 and y0 those in A. */
interface Dot {
  i: number;
  x: number;
  y: number;
  share: number;
  bound: string;
  x0: number;
  y0: number;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

interface PlotScale {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  x(v: number): number;
  y(v: number): number;
}

interface Times {
  count: number;
  ns: number; // undefined, not 0, as are all below
  avg: number;
  min: number;
  max: number;
}

interface LaunchRow extends Times {
  name: string;
  about?: string;
  kind?: boolean;
  old: Times; // undefined unless two profiles are compared
  bytes: number;
  flops: number;
  roof: number;
  bound: string;
  counted: boolean;
}

interface LaunchKernel extends Times {
  name: string;
  rows: LaunchRow[];
  old: Times; // undefined unless two profiles are compared
}

/** Counts are samples; r has pairs of a reason's number and its samples. */
interface Counts {
  n: number;
  did?: string; // what instructions counted, in a few words
  r?: [reason: number, n: number][];
}

/** SourceLine is the element of a row. */
type SourceLine = HTMLElement & {row: SourceRow};

interface SourceRow extends Counts {
  at: string;
  text: string;
  old: Counts; // undefined unless two profiles are compared, or where A has none
  place?: string;
  gap?: boolean;
  inlined?: SourceRow[];
}

interface SourceKernel extends Counts {
  name: string;
  label?: string;
  old: Counts; // undefined unless two profiles are compared, or where A has none
  facts: string[];
  advice: string;
  paths: {name: string; n: number}[];
  files: {name: string; rows: SourceRow[]}[];
  code: SourceRow[]; // undefined without instructions
  noLine: number;
  notes: string[];
}

interface SourceData {
  samples: number;
  old: number; // of A; undefined unless two profiles are compared
  unit: string; // what samples are: "sample", "instruction"
  about: string;
  reasons: {name: string; means: string; hint: string; stall: boolean}[];
  kernels: SourceKernel[];
  more: number;
}

interface RowsHead {
  count: number;
  name: Section;
  side?: Section;
  values: Section[];
}

/** Facts are the parts of the head that a page uses as they are. */
interface Facts {
  title: string;
  made: string;
  diff: boolean;
  files: ProfileFile[];
  notes: string[];
  strings: string[];
  labels: string[];
  columns: Column[];
  metrics: Metric[];
  util: number; // column, -1 without
  launched: number;
  // Undefined where a profile has nothing of it. Only the view that shows it, and which then does not exist, reads it without a check.
  roofline: {roofs: Roof[]};
  launches: {kernels: LaunchKernel[]; more: number};
  idle: {devices: IdleDevice[]; causes: IdleCause[]; gaps: IdleGap[]; more: number; moreTime: number; means: string[]};
  inside: InsideKernel[];
  ir: {kernels: IRKernel[]; more: number};
  source: SourceData;
}

interface IRKernel {
  name: string;
  compilations: {name: string; about: string; texts: IRText[]}[];
  pairs: IRPair[];
}

interface IRText {
  stage: string; // python for the source
  first: number; // number of the first line
  lines: string[];
  from?: number[]; // for each line the line of the source, 0 for none; undefined for the source itself
}

/** IRPair is how two compilations of a kernel differ. */
interface IRPair {
  a: number; // places in the kernel's compilations, the lower first
  b: number;
  changes: string[];
  stages: Record<string, {a: number[]; b: number[]; places: [a: number, b: number][]}>; // lines that only one has; undefined for a stage without any
}

interface InsideKernel {
  name: number; // a string
  facts: string[];
  notes: string[];
  rows: InsideScope[]; // outer ones first
}

interface InsideScope {
  depth: number;
  name: number; // a string
  at: string; // file and line
  share: number | null;
  own: number | null;
  cycles: number | null;
  time: number | null; // ns
  count: number | null;
  p50: number | null; // and p95, max: cycles of a single warp in one block
  p95: number | null;
  max: number | null;
  factor: number | null; // imbalance over multiprocessors
  most: number; // the busiest multiprocessor
  sms: number[]; // parts of its cycles
  bars: number[]; // histogram from least to max, parts of the highest bar
  least: number;
}

interface IdleDevice {
  name: string;
  wall: number; // ns, as all times here
  busy: number;
  idle: number;
  gaps: number;
  before: number; // of the timeline, without work
  after: number;
}

interface IdleCause {
  device: number; // position in devices
  doing: number; // position in means
  path: number[]; // strings
  time: number;
  gaps: number;
  longest: number;
}

interface IdleGap {
  device: number;
  from: number; // since the first event of the timeline
  to: number;
  doing: number; // for the longest part of the gap
  path: number[];
  part: number; // how long that part is
  then: number; // a string
}

type SlicesHead = Omit<Slices, "start" | "duration" | "name" | "kind" | "path" | "bytes"> & Record<"start" | "duration" | "name" | "kind" | "path" | "bytes", Section>;

interface TimelineHead extends Omit<TimelineData, "rows" | "pathName" | "pathParent" | "flows" | "counters"> {
  counters?: CounterHead[];
  rows: SlicesHead[];
  pathName: Section;
  pathParent: Section;
  flows: {count: number} & Record<"fromRow" | "from" | "toRow" | "to", Section>;
}

interface Head extends Facts {
  tree: RowsHead & {depth: Section; kind: Section};
  flat: RowsHead;
  timeline?: TimelineHead;
}

type ReadSection = (s: Section) => Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

interface PageData extends Facts {
  shown: string[]; // labels as they were needed, by string
  tree: Tree;
  flat: Rows;
  timeline: TimelineData; // undefined as above
}

interface State {
  report: PageData;
  tab: string;
  metric: Metric; // of widths, shares and bars
  node: number; // chosen frame
  zoom: number; // frame at the width of the flame graph
  query: string;
  matches: Matches | null; // null without a query
  colour: string;
  theme: string;
  span: Span | null; // that the timeline is to show; null until a view asks for one
}

type Changed = Set<keyof State>;

/** Graph is what a flame graph draws. Its nodes are frames, or merge frames of one name. */
interface Graph extends Frames {
  name: ArrayLike<number>;
  kind: ArrayLike<number>;
  merged: boolean; // false for the call tree, whose nodes are the frames
  frame: Int32Array; // of the tree: the largest that a node merges
  side: ArrayLike<number> | null; // null for one profile
  now: ArrayLike<number>; // of the metric
  old: ArrayLike<number> | null; // in A
  cut?: Uint8Array; // 1 for a node whose further callers were not followed; absent from the call tree
}

/** Matches are what a search finds: frames of the tree, names that such frames have, and call paths of the timeline. */
interface Matches {
  frames: Uint8Array;
  names: Uint8Array; // by string
  paths: Uint8Array | null; // null where names decide
}

/** View is a tab. */
interface View {
  show(): void;
  nextMatch?(): void; // goes to what the search finds next, where that is not a frame
  choose?(node: number | SliceAt | null): void;
}

/** Fill is a colour with the ink that reads best on it. */
interface Fill {
  colour: string;
  ink: string;
}

type RGB = number[];

/** Sort is how the table is sorted: null is as the program ran. */
interface Sort {
  column: Column | "name" | null;
  down: boolean;
}

type Child = Node | string | null | undefined | false | "" | 0;
type Attributes = Record<string, any>;
type Pair = [name: string, value: string];
