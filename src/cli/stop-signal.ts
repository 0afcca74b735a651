import { EXIT } from './exit-code.ts';

/** Which exit code a run that was stopped before it was done ends with. */
export type StopCode = typeof EXIT.interrupted | typeof EXIT.terminated;

/**
 * Resolves at the first request to stop: Ctrl-C, SIGTERM, or the terminal going away. A second one ends the process
 * at once, for whoever does not want to wait until everything is closed. With `onHangup`, SIGHUP means what it means
 * to a service nobody's terminal belongs to: look at the configuration again.
 */
export function untilStopped(onHangup?: () => void): Promise<StopCode> {
  return new Promise((resolve) => {
    let isStopping = false;
    const onSignal = (code: StopCode): void => {
      if (isStopping) process.exit(code);
      isStopping = true;
      resolve(code);
    };
    process.on('SIGINT', () => onSignal(EXIT.interrupted));
    process.on('SIGTERM', () => onSignal(EXIT.terminated));
    process.on('SIGHUP', onHangup ?? (() => onSignal(EXIT.terminated)));
  });
}
