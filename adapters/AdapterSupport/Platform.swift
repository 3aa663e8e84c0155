// This is the only place that imports the platform's C library. This module and the adapters use the library through
// this import.
#if canImport(Darwin)
@_exported public import Darwin
#elseif canImport(Musl)
@_exported public import Musl
#else
@_exported public import Glibc
#endif
