import SignalboxCore
import Tracing

/// Writes into a span what an arrival was and what became of it.
enum SpanText {
    static func describe(_ span: any Span, _ arrival: Arrival, _ outcome: Outcome) {
        span.updateAttributes { attributes in
            attributes[SpanField.system.rawValue] = "signalbox"
            attributes[SpanField.operation.rawValue] = "process"
            attributes[SpanField.source.rawValue] = arrival.origin.source.text
            if case .success(let action) = arrival.reading {
                attributes[SpanField.action.rawValue] = action.name.text
                attributes[SpanField.id.rawValue] = LogText.shown(action.id.text)
            }
            attributes[SpanField.outcome.rawValue] = outcome.name
            attributes[SpanField.code.rawValue] = outcome.code
        }
        if case .failed(let failure) = outcome {
            span.setStatus(SpanStatus(code: .error, message: LogText.shown(Redaction.detail(failure.description))))
        }
    }
}
