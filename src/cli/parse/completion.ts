import { agents } from '../../../agents/index.ts'
import { type Command, command, isPath, unknownWord } from './command.ts'
import { SHOWN_STATES } from './options.ts'

/** The commands, by their names. */
type Commands = Readonly<Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>>

/** A command as a shell completes it. */
type Completed = {
  readonly name: string
  readonly summary: string
  readonly options: Command['options']
  /** What may stand behind the name. */
  readonly words: readonly string[]
}

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const
const isShell = (text: string): text is keyof typeof SHELLS => Object.hasOwn(SHELLS, text)

/** Make `rolekeeper completion`: what a shell is told of the commands, as they are. */
export const completionOf = (commands: Commands): Command =>
  command({
    name: 'completion',
    usage: 'bash | zsh | fish',
    help: `Write what completes commands, their options and roles in a shell.

  source <(rolekeeper completion bash)                                    # in ~/.bashrc
  source <(rolekeeper completion zsh)                                     # in ~/.zshrc
  rolekeeper completion fish > ~/.config/fish/completions/rolekeeper.fish`,
    options: {},
    argumentsMax: 1,
    run: async (_given, [shell], io) => {
      if (shell === undefined || !isShell(shell)) {
        const known = Object.keys(SHELLS)
        const fix = `give one of ${known.join(', ')}`
        throw unknownWord(shell, {
          known,
          a: 'a shell that is known here',
          asks: 'Say for which shell.',
          fix,
        })
      }
      const all = Object.entries(commands).map(async ([name, { summary, load }]): Promise<Completed> => {
        const { options, usage } = await load()
        return { name, summary, options, words: wordsOf(usage) }
      })
      io.out(SHELLS[shell](await Promise.all(all)))
      return 0
    },
  })

const ROLE_NAMES = agents.map(({ role }) => role)
/** What the value of an option may be, by the word that its help has for it; any other is a file, or for people to say. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  ROLE: ROLE_NAMES,
  STATE: SHOWN_STATES,
}

/** The words that a usage shows as they are typed, and the roles where it shows one; those of options are theirs. Pure. */
const wordsOf = (usage: string): readonly string[] =>
  usage
    .replaceAll(/--[\w-]+( [A-Z][\w|]*)?/g, '')
    .split(/[^\w-]+/)
    .flatMap((word) => (word === 'ROLE' ? ROLE_NAMES : /^[a-z][a-z-]*$/.test(word) ? [word] : []))

const longs = ({ options }: Completed) => [...Object.keys(options), 'help'].map((name) => `--${name}`)

/** The options of any command whose value is such a one. Pure. */
const takes = (all: readonly Completed[], isSuch: (value: string) => boolean) => [
  ...new Set(
    all.flatMap(({ options }) =>
      Object.entries(options).flatMap(([name, { value }]) =>
        value !== undefined && isSuch(value) ? [`--${name}`] : [],
      ),
    ),
  ),
]

function bashScript(all: readonly Completed[]): string {
  const cases = all.map((each) => `    ${each.name}) words="${[...each.words, ...longs(each)].join(' ')}" ;;`)
  const known = Object.entries(VALUES).map(([word, values]) => {
    const options = takes(all, (value) => value === word).join('|')
    return `    ${options}) COMPREPLY=($(compgen -W "${values.join(' ')}" -- "$cur")); return ;;`
  })
  return `_rolekeeper() {
  local cur=\${COMP_WORDS[COMP_CWORD]} words=""
  case \${COMP_WORDS[COMP_CWORD-1]} in
${known.join('\n')}
    ${takes(all, isPath).join('|')}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    ${takes(all, (value) => !isPath(value) && !Object.hasOwn(VALUES, value)).join('|')}) COMPREPLY=(); return ;;
  esac
  case $COMP_CWORD:\${COMP_WORDS[1]} in
    1:*) words="${all.map(({ name }) => name).join(' ')}" ;;
${cases.map((line) => line.replace(/^ {4}/, '    *:')).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _rolekeeper rolekeeper
`
}

/** zsh reads what is written for bash. */
function zshScript(all: readonly Completed[]): string {
  return `autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
${bashScript(all)}`
}

const quoted = (text: string) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`

function fishScript(all: readonly Completed[]): string {
  const lines = all.flatMap(({ name, summary, options, words }) => {
    const within = `complete -c rolekeeper -n '__fish_seen_subcommand_from ${name}'`
    return [
      `complete -c rolekeeper -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...(words.length === 0 ? [] : [`${within} -f -a ${quoted(words.join(' '))}`]),
      ...Object.entries(options).map(([long, { value, help }]) => {
        const kind =
          value === undefined
            ? ''
            : isPath(value)
              ? ' -r -F'
              : ` -x${Object.hasOwn(VALUES, value) ? ` -a ${quoted((VALUES[value] ?? []).join(' '))}` : ''}`
        return `${within} -l ${long}${kind} -d ${quoted(help)}`
      }),
    ]
  })
  return `${lines.join('\n')}\n`
}
