import { describe, expect, it } from 'vitest';
import { defaultCacheFolder } from './cache-folder.ts';

describe('the folder of caches', () => {
  it.each<[NodeJS.Platform, string, Record<string, string>, string]>([
    ['linux', '/home/rasa', {}, '/home/rasa/.cache/mcpproxy'],
    ['linux', '/home/rasa', { XDG_CACHE_HOME: '/fast' }, '/fast/mcpproxy'],
    ['linux', '/home/rasa', { XDG_CACHE_HOME: 'relative' }, '/home/rasa/.cache/mcpproxy'],
    ['darwin', '/Users/rasa', {}, '/Users/rasa/.cache/mcpproxy'],
    ['win32', 'C:\\Users\\rasa', {}, 'C:\\Users\\rasa\\AppData\\Local\\mcpproxy\\cache'],
    ['win32', 'C:\\Users\\rasa', { LOCALAPPDATA: 'D:\\Local' }, 'D:\\Local\\mcpproxy\\cache'],
    ['win32', 'C:\\Users\\rasa', { XDG_CACHE_HOME: 'E:\\cache' }, 'E:\\cache\\mcpproxy'],
  ])('on %s of %s with %j is %s', (platform, home, env, folder) => {
    expect(defaultCacheFolder({ env, home, platform })).toBe(folder);
  });
});
