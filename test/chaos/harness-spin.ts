// Loaded into an agent before its own code (`node --import`) by tests that block its event loop. On
// SIGUSR2 the main thread computes for the duration in the environment, as a pathological page or a
// long garbage collection would.

const spinMs = Number(process.env.CHAOS_SPIN_MS ?? 0);

process.on('SIGUSR2', () => {
  const end = performance.now() + spinMs;
  while (performance.now() < end);
});
