import { commandWords, commonFlags, PROGRAMS } from './words.ts';
import type { FlagWord } from './words.ts';

/** For Windows PowerShell 5 and PowerShell 7. */
export function powershellCompletion(): string {
  const commands = commandWords();
  const common = commonFlags();
  const all = new Map(
    [...common, ...commands.flatMap(({ flags }) => flags)].map((flag) => [flag.long, flag]),
  );
  const withValue = [...all.values()].filter(({ value }) => value !== 'none');
  const serve = commands.find(({ name }) => name === 'serve')?.flags ?? [];
  return `# Completions of mcpproxy for PowerShell. Load them with: mcpproxy completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName ${PROGRAMS.map(quotedWord).join(', ')} -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $commands = @(
${commands.map(({ name, sentence }) => `        ${entry(name, sentence)}`).join('\n')}
    )
    $flags = @(
${common.map(flagEntry).join('\n')}
    )
    $own = @{
        '' = @(${serve.map((flag) => flagEntry(flag).trim()).join('; ')})
${commands.map(({ name, flags }) => `        ${quotedWord(name)} = @(${flags.map((flag) => flagEntry(flag).trim()).join('; ')})`).join('\n')}
    }
    $operands = @{
${commands
  .filter(({ operands }) => operands.length > 0)
  .map(({ name, operands }) => `        ${quotedWord(name)} = @(${operands.map(quotedWord).join(', ')})`)
  .join('\n')}
    }
    # What may follow a flag: words, or $null for anything.
    $values = @{
${withValue.flatMap((flag) => spellings(flag).map((each) => `        ${quotedWord(each)} = ${valueWords(flag)}`)).join('\n')}
    }
    $before = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text })
    $command = ''
    for ($i = 0; $i -lt $before.Count; $i++) {
        $name = $before[$i] -replace '^-(?=[a-z]{2})', '--'
        if ($values.ContainsKey($name)) { $i++ }
        elseif (-not $name.StartsWith('-')) { $command = $name; break }
    }
    $last = if ($before.Count -gt 0) { $before[-1] -replace '^-(?=[a-z]{2})', '--' } else { '' }
    $candidates = @()
    if ($values.ContainsKey($last)) {
        $candidates = @($values[$last] | Where-Object { $_ } | ForEach-Object { @{ Text = $_; About = $_ } })
    } elseif ($wordToComplete.StartsWith('-')) {
        $wordToComplete = $wordToComplete -replace '^-(?=[a-z])', '--'
        $candidates = @($flags) + @($own[$command])
    } elseif ($command -eq '') {
        $candidates = $commands
    } elseif ($operands.ContainsKey($command)) {
        $candidates = @($operands[$command] | ForEach-Object { @{ Text = $_; About = $_ } })
    }
    $candidates | Where-Object { $_ -and $_.Text -like "$wordToComplete*" } | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_.Text, $_.Text, 'ParameterValue', $_.About)
    }
}`;
}

function entry(text: string, about: string): string {
  return `@{ Text = ${quotedWord(text)}; About = ${quotedWord(about)} }`;
}

function flagEntry({ long, sentence }: FlagWord): string {
  return `        ${entry(long, sentence)}`;
}

function spellings({ long, short }: FlagWord): string[] {
  return short === undefined ? [long] : [short, long];
}

/** Files are completed by PowerShell itself where we offer nothing. */
function valueWords({ value }: FlagWord): string {
  return typeof value === 'string' ? '$null' : `@(${value.map(quotedWord).join(', ')})`;
}

function quotedWord(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
