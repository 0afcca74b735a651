import type { Context } from './context.ts';
export async function demo(_c: Context): Promise<number> { return 0; }
