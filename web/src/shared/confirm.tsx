import { lazy, Suspense, useSyncExternalStore } from 'react'
import type { Question } from './question.ts'
import { loadFile } from './load-file.ts'

/** Loaded with the first question. */
const ConfirmDialog = lazy(() => loadFile(() => import('./confirm-dialog.tsx')))

let asked: Question | undefined
const listeners = new Set<() => void>()

function ask(question: Question | undefined): void {
  asked = question
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Asks before something that cannot be taken back. */
export const confirm = (question: Question): void => ask(question)

/** Shows the question that is asked; stands once in the app. */
export function Questions() {
  const question = useSyncExternalStore(subscribe, () => asked)
  return (
    question !== undefined && (
      <Suspense>
        <ConfirmDialog question={question} onClose={() => ask(undefined)} />
      </Suspense>
    )
  )
}
