define void @embedding(ptr %buffers, ptr %symbols, i64 %begin, i64 %end, ptr %error, ptr %scratch) #0 {
entry:
  %t0 = getelementptr ptr, ptr %buffers, i64 0
  %t1 = load ptr, ptr %t0, align 8
  %t2 = getelementptr ptr, ptr %buffers, i64 1
  %t3 = load ptr, ptr %t2, align 8
  %t4 = getelementptr ptr, ptr %buffers, i64 2
  %t5 = load ptr, ptr %t4, align 8
  %t6 = icmp slt i64 %begin, %end
  br i1 %t6, label %some0, label %done1
some0:
  br label %loop2
loop2:
  %i0.loop2 = phi i64 [ %begin, %some0 ], [ %i0.loop2.next, %checked3 ]
  %t7 = getelementptr i64, ptr %t3, i64 %i0.loop2
  %t8 = load i64, ptr %t7, align 8
  %t9 = icmp sge i64 %t8, 0
  %t10 = icmp slt i64 %t8, 20
  %t11 = and i1 %t9, %t10
  br i1 %t11, label %checked3, label %fail1
checked3:
  %t12 = mul nsw i64 %t8, 16
  %t13 = getelementptr float, ptr %t1, i64 %t12
  %t16 = mul nsw i64 %i0.loop2, 16
  %t17 = getelementptr float, ptr %t5, i64 %t16
  %t14 = getelementptr float, ptr %t13, i64 0
  %t15 = load <16 x float>, ptr %t14, align 4
  %t18 = getelementptr float, ptr %t17, i64 0
  store <16 x float> %t15, ptr %t18, align 4
  %i0.loop2.sum = add nuw nsw i64 %i0.loop2, 1
  %i0.loop2.next = call i64 asm "", "=r,0"(i64 %i0.loop2.sum)
  %i0.loop2.more = icmp slt i64 %i0.loop2.next, %end
  br i1 %i0.loop2.more, label %loop2, label %after4
after4:
  br label %done1
done1:
  ret void
fail1:
  store i32 1, ptr %error, align 4
  ret void
}


attributes #0 = { nounwind }
