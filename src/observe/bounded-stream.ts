/** The part of a stream that lines are written to. */
export interface LineStream {
  write(text: string): boolean;
  readonly writableLength?: number;
}

/** Of lines nobody reads (a client that leaves our stderr alone) no more than this is held; the rest is dropped. */
const MAX_WAITING_BYTES = 262_144;

/** Writes lines until too many wait to be read; then drops them, and says how many once they are read again. */
export function boundedStream(
  stream: LineStream,
  droppedLine: (dropped: number) => string,
): (line: string) => void {
  let dropped = 0;
  return (line) => {
    if ((stream.writableLength ?? 0) > MAX_WAITING_BYTES) {
      dropped++;
      return;
    }
    if (dropped > 0) stream.write(droppedLine(dropped));
    dropped = 0;
    stream.write(line);
  };
}
