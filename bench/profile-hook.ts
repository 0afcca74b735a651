import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

/**
 * Loaded before the proxy (`node --import`): the first SIGUSR2 starts a CPU profile, the second writes it to
 * `BENCH_PROFILE`, so that start-up and warm-up stay out of it.
 */
const session = new Session();
let isRunning = false;

process.on('SIGUSR2', () => {
  if (isRunning) {
    session.post('Profiler.stop', (_error, { profile }) => {
      writeFileSync(process.env['BENCH_PROFILE'] ?? 'bench.cpuprofile', JSON.stringify(profile));
    });
    return;
  }
  isRunning = true;
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: 100 });
  session.post('Profiler.start');
});
